import fs from 'node:fs'
import path from 'node:path'
import { startOf } from '../../sql/scratch.js'
import { UsageError } from '../command/errors.js'

const SHOWN = 3

/**
 * A run puts a lock file into its results folder, since Node cannot lock files. Its name holds the process id and start time;
 * the lock of a process that has ended does not count, so a kill -9 leaves nothing to clean up. Processes on other machines
 * are not detected.
 */
const LOCK = /^lock-(\d+)-([0-9a-z]+)$/
const TRIES = 5
const PAUSE_MS = 40

/** Results need an empty folder, so that they never overwrite existing files. @param {string} folder @throws {UsageError} if it holds anything */
export function refuseForeign(folder) {
  if (!fs.existsSync(folder)) return
  if (!fs.statSync(folder).isDirectory()) throw new UsageError(`--out: expected a folder, got the file ${folder}`)
  const names = fs.readdirSync(folder).filter((name) => !LOCK.test(name))
  if (names.length === 0) return
  const shown = `${names.slice(0, SHOWN).join(', ')}${names.length > SHOWN ? ', …' : ''}`
  throw new UsageError(`--out: expected a new or empty folder, got ${folder}, which holds ${shown}`)
}

/**
 * Creates a folder for results, and its parents. Does so step by step, since Node's own recursive mkdir never returns where the system
 * refuses a folder as not found, such as in /proc.
 * @param {string} folder @throws {UsageError} if it cannot be created or written to
 */
export function makeFolder(folder) {
  try {
    makeFolders(path.resolve(folder))
    fs.accessSync(folder, fs.constants.W_OK)
  } catch (error) {
    throw new UsageError(`--out: expected a folder that can be written, got ${/** @type {Error} */ (error).message}`)
  }
}

/** @param {string} folder @param {string} flag for messages @param {string} advice @throws {UsageError} if the folder cannot be written */
export function refuseUnwritable(folder, flag, advice) {
  writing(folder, flag, advice, () => fs.accessSync(folder, fs.constants.W_OK))
}

/** @param {string} folder @param {string} flag @param {string} advice @param {() => void} write @throws {UsageError} */
function writing(folder, flag, advice, write) {
  try {
    write()
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new UsageError(`${flag}: expected a folder that can be written, got ${folder} (${code}): ${advice}`)
  }
}

/** @param {string} folder absolute */
function makeFolders(folder) {
  if (fs.existsSync(folder)) return
  makeFolders(path.dirname(folder))
  try {
    fs.mkdirSync(folder)
  } catch (error) {
    // Another run may have created it just now.
    if (!fs.existsSync(folder)) throw error
  }
}

/** Refuses links, which appending would follow. @param {string} folder of a run @throws {UsageError} if any of its files is a link */
export function refuseLinks(folder) {
  const link = fs.readdirSync(folder, { withFileTypes: true }).find((entry) => entry.isSymbolicLink())
  if (link)
    throw new UsageError(`--resume: expected a run's own files in ${folder}, got the symbolic link ${link.name}`)
}

/** @type {Map<string, string>} lock files of this process, by folder */
const held = new Map()
process.once('exit', () => [...held.keys()].map(releaseFolder))

/**
 * Locks a folder until this process ends. A run writes its lock before it looks for others: two runs that do so at the same
 * moment see each other, and both withdraw and retry after a random time.
 * @param {string} folder must exist @param {string} flag for messages @throws {UsageError} if another process holds it
 */
export function holdFolder(folder, flag) {
  const key = fs.realpathSync(folder)
  if (held.has(key)) return
  const own = path.join(key, `lock-${process.pid}-${startOf(process.pid)}`)
  const advice = flag === '--resume' ? 'copy the run to one' : 'give another one'
  let other = null
  for (let i = 0; i < TRIES; i++) {
    if (i > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS * (1 + Math.random()))
    writing(folder, flag, advice, () => fs.writeFileSync(own, ''))
    other = otherHolder(key)
    if (other === null) {
      held.set(key, own)
      return
    }
    fs.rmSync(own)
  }
  throw new UsageError(
    `${flag}: expected a folder that no run is using, got ${folder}, which process ${other} is writing to: wait for it, or stop it`,
  )
}

/** Removes our lock from a folder, if there is one. @param {string} folder */
export function releaseFolder(folder) {
  const key = fs.existsSync(folder) ? fs.realpathSync(folder) : folder
  const own = held.get(key)
  if (own) fs.rmSync(own, { force: true })
  held.delete(key)
}

/** Finds the process that holds a folder, and removes the locks of ended processes. @param {string} folder */
function otherHolder(folder) {
  for (const name of fs.readdirSync(folder)) {
    const [, pid, start] = LOCK.exec(name) ?? []
    if (pid === undefined || Number(pid) === process.pid) continue
    if (startOf(Number(pid)) === start) return Number(pid)
    fs.rmSync(path.join(folder, name), { force: true })
  }
  return null
}
