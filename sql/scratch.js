import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { attempt, textOf } from './attempt.js'
import { sendSignal } from './signals.js'

/** redline-<what>-<host>-<boot>-<pid>-<start of the process>-<random> */
const NAME = /^redline-[a-z]+-([0-9a-f]{6})-([0-9a-f]{6})-([0-9a-z]+)-([0-9a-z]+)-[^-]+$/

/** SIGQUIT ends Postgres at once (postgres(1)); SIGKILL would leave its memory behind. */
const QUIT_TIMEOUT_MS = 5000
const POLL_MS = 20

/** Makes a temporary folder whose name says which process owns it. @param {string} what such as "vegeta" @param {string} [parent] */
export function makeScratch(what, parent = os.tmpdir()) {
  const { host, boot } = here()
  const owner = `${process.pid.toString(36)}-${startOf(process.pid) ?? '0'}`
  return fs.mkdtempSync(path.resolve(parent, `redline-${what}-${host}-${boot}-${owner}-`))
}

/**
 * Removes the folders of killed labs. A folder is removed only if it is our user's, was made on this host and in this process
 * namespace, and its owner has ended; a Postgres that still runs in it is ended first. @param {string[]} [parents] of the folders
 */
export async function removeLeftovers(parents = [os.tmpdir(), '/tmp', '/var/tmp']) {
  for (const parent of new Set(parents)) {
    const names = attempt(() => fs.readdirSync(parent), [])
    for (const name of names.filter(isOfDead)) {
      const folder = path.join(parent, name)
      const found = fs.lstatSync(folder, { throwIfNoEntry: false })
      if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue
      await endPostgres(folder)
      // Another lab may be removing it too.
      await fs.promises.rm(folder, { recursive: true, force: true, maxRetries: 3 }).catch(() => {})
    }
  }
}

/** Whether its owner has ended. @param {string} name */
function isOfDead(name) {
  const [, host, boot, pid, start] = NAME.exec(name) ?? []
  const own = here()
  if (host !== own.host) return false
  if (boot !== own.boot) return true
  const now = startOf(Number.parseInt(pid, 36))
  return now === null || (now !== start && start !== '0')
}

/** Ends a Postgres at once; the leash takes its time, and exists on Linux only. @param {string} folder */
async function endPostgres(folder) {
  const pid = Number(textOf(path.join(folder, 'data', 'postmaster.pid'))?.split('\n')[0])
  const isOurs = () => pid > 0 && commandOf(pid).includes(folder)
  for (const signal of /** @type {const} */ (['SIGQUIT', 'SIGKILL'])) {
    if (isOurs()) sendSignal(pid, signal)
    for (const until = Date.now() + QUIT_TIMEOUT_MS; isOurs() && Date.now() < until; ) await pause(POLL_MS)
  }
}

/** Process ids are unique only within a host's process namespace, until the host reboots. */
function here() {
  const hash = (/** @type {string} */ text) => createHash('sha256').update(text).digest('hex').slice(0, 6)
  const namespace = attempt(() => fs.readlinkSync('/proc/self/ns/pid'), '')
  return { host: hash(`${os.hostname()} ${namespace}`), boot: hash(textOf('/proc/sys/kernel/random/boot_id') ?? '') }
}

/** When a process began, which tells it from a later one with the same id; null: it does not run; '0': unknown. @param {number} pid */
export function startOf(pid) {
  // Field 22 of proc(5), counted from behind the name, which may hold anything.
  const fields = textOf(`/proc/${pid}/stat`)?.split(') ').at(-1)?.split(' ') ?? []
  // A zombie has ended.
  if (fields.length > 19) return /[ZX]/.test(fields[0]) ? null : Number(fields[19]).toString(36)
  if (fs.existsSync('/proc/self/stat')) return null
  try {
    process.kill(pid, 0)
    return '0'
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'EPERM' ? '0' : null
  }
}

/** @param {number} pid */
function commandOf(pid) {
  if (fs.existsSync('/proc/self/cmdline')) return textOf(`/proc/${pid}/cmdline`) ?? ''
  return attempt(() => execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }), '')
}
