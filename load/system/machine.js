import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { textOf } from '../../sql/attempt.js'

export { textOf }

/** Describes this machine, for run.json. */
export function describeMachine() {
  return {
    cpu_model: os.cpus()[0]?.model.trim() || 'unknown',
    cores: os.cpus().length,
    memory_bytes: os.totalmem(),
    kernel: `${os.type()} ${os.release()}`,
  }
}

/** Commit of this checkout, with a + if files differ from it; null: not a checkout. */
export async function redlineCommit() {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  // An installed package may lie in the repository of somebody else.
  if (!existsSync(path.join(cwd, '.git'))) return null
  const described = promisify(execFile)('git', ['describe', '--always', '--abbrev=12', '--dirty=+'], { cwd })
  return described.then(({ stdout }) => stdout.trim()).catch(() => null)
}

/** One core for the API and the others for everything else, as taskset takes them; null: only one core, or no taskset. */
export function planCores() {
  const cores = expandCores(coresOf('self') ?? '')
  if (cores.length < 2 || spawnSync('taskset', ['--version']).status !== 0) return null
  return { api: String(cores[0]), others: cores.slice(1).join(',') }
}

/** Cores that a process may run on, as the kernel lists them. @param {number | 'self'} pid */
export function coresOf(pid) {
  return foundIn(`/proc/${pid}/status`, /^Cpus_allowed_list:\s*(\S+)$/m)
}

/** The hard limit of open files. @param {number | 'self'} pid */
export function nofileOf(pid) {
  return numberIn(`/proc/${pid}/limits`, /^Max open files\s+\S+\s+(\d+)/m)
}

/** The soft limit of open files, which a process may raise itself. @param {number | 'self'} pid */
export function softNofileOf(pid) {
  return numberIn(`/proc/${pid}/limits`, /^Max open files\s+(\d+)/m)
}

/** Expands a list of the kernel: "0-2,5" -> [0, 1, 2, 5]. @param {string} list */
export function expandCores(list) {
  return [...list.matchAll(/(\d+)(?:-(\d+))?/g)].flatMap(([, first, last = first]) => {
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
  })
}

/** @param {string} file @param {RegExp} pattern its first group is the number; returns null if the file lacks it */
export function numberIn(file, pattern) {
  const found = foundIn(file, pattern)
  return found === null ? null : Number(found)
}

/** @param {string} file @param {RegExp} pattern */
function foundIn(file, pattern) {
  return pattern.exec(textOf(file) ?? '')?.[1] ?? null
}
