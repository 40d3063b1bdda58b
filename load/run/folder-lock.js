import { spawnSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from '../command/errors.js'
import { textOf } from '../system/machine.js'

/**
 * Keeps a second run out of a results folder. Node cannot lock files, so each run puts a file there whose name says which
 * process it belongs to, and when that process began; one whose process has ended does not count, so that nothing has to
 * be tidied up after a kill -9. Only processes of this machine are seen.
 *
 * A run first puts its own file there and then looks for others. Of two that do so at the same moment, each sees the other:
 * both withdraw and try again after a random time.
 */
const LOCK = /^lock-(\d+)-(\d+)$/

const TRIES = 5
const PAUSE_MS = 40

/** @type {Map<string, string>} lock files of this process, by folder */
const held = new Map()

/**
 * Holds a folder until this process ends.
 *
 * @param {string} folder that exists
 * @param {string} flag for messages
 * @throws {UsageError} if another process holds it
 */
export function holdFolder(folder, flag) {
  const key = fs.realpathSync(folder)
  if (held.has(key)) return
  const own = path.join(key, `lock-${process.pid}-${startOf(process.pid)}`)
  let other = 0
  for (let i = 0; i < TRIES; i++) {
    if (i > 0) pause(PAUSE_MS * (1 + Math.random()))
    fs.writeFileSync(own, '')
    const found = otherHolder(key)
    if (found === null) {
      if (held.size === 0) process.once('exit', releaseAll)
      held.set(key, own)
      return
    }
    fs.rmSync(own)
    other = found
  }
  throw new UsageError(
    `${flag}: expected a folder that no run is using, got ${folder}, which process ${other} is writing to: wait for it, or stop it`,
  )
}

/** @param {string} folder that exists */
export function releaseFolder(folder) {
  const key = fs.realpathSync(folder)
  const own = held.get(key)
  if (own) fs.rmSync(own, { force: true })
  held.delete(key)
}

/** Whether a file in a folder is a lock. @param {string} name */
export function isLock(name) {
  return LOCK.test(name)
}

function releaseAll() {
  for (const own of held.values()) fs.rmSync(own, { force: true })
}

/** The process that holds a folder; files of processes that have ended are removed. @param {string} folder */
function otherHolder(folder) {
  for (const name of fs.readdirSync(folder)) {
    const [, pid, start] = LOCK.exec(name) ?? []
    if (pid === undefined || Number(pid) === process.pid) continue
    if (startOf(Number(pid)) === start) return Number(pid)
    fs.rmSync(path.join(folder, name), { force: true })
  }
  return null
}

/**
 * When a process began, which tells it from a later one with the same id.
 *
 * @param {number} pid
 * @returns {string | null} digits; null: it has ended
 */
function startOf(pid) {
  if (process.platform === 'linux') {
    // Behind the name, which may hold anything: the state, and as 20th field the start in clock ticks since boot (proc(5)).
    const fields = textOf(`/proc/${pid}/stat`)
      ?.replace(/^.*\) /s, '')
      .split(' ')
    return !fields || /[ZX]/.test(fields[0]) ? null : fields[19]
  }
  const { status, stdout } = spawnSync('ps', ['-o', 'lstart=', '-p', String(pid)], {
    encoding: 'utf8',
    env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/bin:/usr/bin' },
  })
  return status === 0 ? String(Date.parse(`${stdout.trim()} UTC`)) : null
}

/** @param {number} ms */
function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
