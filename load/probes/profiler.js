import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import path from 'node:path'

/**
 * Writes a CPU profile of the program's whole life to the folder named in this module's URL (see profilerIn). The module is preloaded
 * into a Node program; NODE_OPTIONS also reaches one that npm starts. Node does not allow its own --cpu-prof in NODE_OPTIONS everywhere,
 * and a signal without a handler would kill the program before it writes that profile.
 */
const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.start')

process.on('exit', () => {
  session.post('Profiler.stop', (_, { profile } = /** @type {any} */ ({})) => {
    const folder = String(new URL(import.meta.url).searchParams.get('folder'))
    mkdirSync(folder, { recursive: true })
    writeFileSync(path.join(folder, `${process.pid}.cpuprofile`), JSON.stringify(profile))
  })
})
process.on('SIGTERM', () => {
  if (process.listenerCount('SIGTERM') === 1) process.exit()
})
