import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const WORK = fileURLToPath(new URL('speed-work.js', import.meta.url))
const TIMEOUT_MS = 10_000

/**
 * Times a fixed piece of work on the given cores. A core's speed varies with its clock, with the other users of the memory and with
 * what a host gives to its other guests. The work runs in a process of its own, so a service's past does not matter.
 * @param {string | null} cores list such as "0" or "1-3"; null: wherever the system puts it
 * @returns {Promise<number | null>} ms; null: it could not be run
 */
export function timeWork_ms(cores) {
  const pinned = cores === null ? [] : ['taskset', '-c', cores]
  const [program, ...args] = [...pinned, process.execPath, WORK]
  const worked = promisify(execFile)(program, args, { timeout: TIMEOUT_MS })
  return worked.then(({ stdout }) => Number(stdout)).catch(() => null)
}
