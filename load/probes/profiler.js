import { mkdirSync, writeFileSync } from 'node:fs'
import { Session } from 'node:inspector'
import path from 'node:path'

/**
 * Preloaded into a Node program, by NODE_OPTIONS also into one that npm starts: writes a CPU profile of its whole life to the folder
 * that its URL names (see profilerIn). Node's own --cpu-prof is not allowed in NODE_OPTIONS everywhere, and a signal without a handler
 * would end it unwritten.
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
