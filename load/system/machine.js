import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** @returns {{ cpu_model: string, cores: number, memory_bytes: number, kernel: string }} */
export function describeMachine() {
  return {
    cpu_model: os.cpus()[0]?.model.trim() || 'unknown',
    cores: os.cpus().length,
    memory_bytes: os.totalmem(),
    kernel: `${os.type()} ${os.release()}`,
  }
}

/** @returns {Promise<string | null>} the commit of this checkout, with a + when files differ from it */
export async function redlineCommit() {
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const described = promisify(execFile)('git', ['describe', '--always', '--abbrev=12', '--dirty=+'], { cwd })
  return described.then(({ stdout }) => stdout.trim()).catch(() => null)
}

/**
 * One core for the API, the others for everything else. Null where that cannot be: one core, or no taskset.
 *
 * @returns {{ api: string, others: string } | null} lists as taskset takes them
 */
export function planCores() {
  const cores = expandCores(coresOf('self') ?? '')
  if (cores.length < 2 || !hasTaskset()) return null
  return { api: String(cores[0]), others: cores.slice(1).join(',') }
}

export function hasTaskset() {
  return spawnSync('taskset', ['--version']).status === 0
}

/** The cores a process may run on, as the kernel has it. @param {number | 'self'} pid @returns {string | null} */
export function coresOf(pid) {
  return foundIn(`/proc/${pid}/status`, /^Cpus_allowed_list:\s*(\S+)$/m)
}

/** The hard limit of open files. @param {number | 'self'} pid @returns {number | null} */
export function nofileOf(pid) {
  return numberIn(`/proc/${pid}/limits`, /^Max open files\s+\S+\s+(\d+)/m)
}

/** The soft one, which a process may raise itself. @param {number | 'self'} pid @returns {number | null} */
export function softNofileOf(pid) {
  return numberIn(`/proc/${pid}/limits`, /^Max open files\s+(\d+)/m)
}

/** A list as the kernel writes it: "0-2,5" -> [0, 1, 2, 5]. @param {string} list */
export function expandCores(list) {
  const cores = []
  for (const part of list === '' ? [] : list.split(',')) {
    const [first, last = first] = part.split('-').map(Number)
    for (let core = first; core <= last; core++) cores.push(core)
  }
  return cores
}

/** @param {string} file @param {RegExp} pattern whose first group is the number @returns {number | null} */
export function numberIn(file, pattern) {
  const found = foundIn(file, pattern)
  return found === null ? null : Number(found)
}

/** @param {string} file @param {RegExp} pattern @returns {string | null} its first group; null: the file lacks it */
function foundIn(file, pattern) {
  return pattern.exec(textOf(file) ?? '')?.[1] ?? null
}

/** @param {string} file @returns {string | null} null where there is no such file, or it is not ours to read */
export function textOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
