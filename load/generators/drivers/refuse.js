import { spawnSync } from 'node:child_process'
import { UsageError } from '../../command/errors.js'

/**
 * @import { Entry } from '../../report/record.js'
 * @typedef {{ url: string, method: string, entries?: Pick<Entry, 'method' | 'take' | 'headers'>[], replay?: { methods: string[] } }} Asked
 *   what a driver is to send
 */

/** Refuses a program that is not installed. @param {string} name @param {string} install the command that installs it @throws {UsageError} */
export function requireProgram(name, install) {
  if (spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) return
  throw new UsageError(`--driver: expected ${name} on PATH, found none: ${install}`)
}

/** Whether requests of the load need values from the responses to others, or headers with blanks, which only our own drivers give them. @param {Asked} asked */
export function needsOwnDriver({ entries = [] }) {
  return entries.some(({ take, headers = {} }) => take || Object.values(headers).some((value) => value.includes('{{')))
}

/** Refuses such a load. @param {string} driver @param {Asked} asked @throws {UsageError} */
export function refuseTaking(driver, asked) {
  if (!needsOwnDriver(asked)) return
  const expected =
    '--driver paced (open loop) or client (closed loop) for values of earlier responses, and for headers with blanks'
  throw new UsageError(`--mix: expected ${expected}, got ${driver}`)
}

/**
 * Refuses https and HEAD, for drivers that do not check certificates and wait for the body that a response to HEAD announces:
 * no option of autocannon 9.0.0 (lib/httpClient.js) or wrk 4.1.0 (src/ssl.c) changes that.
 * @param {string} driver @param {Asked} asked @throws {UsageError}
 */
export function refuseHttpsAndHead(driver, asked) {
  const isHttps = asked.url.startsWith('https:')
  if (!isHttps && !sends(asked, 'HEAD')) return
  const what = isHttps ? 'https, since it does not check certificates' : 'HEAD'
  throw new UsageError(`${driver} cannot do ${what}: expected --driver client (closed loop) or paced (open loop)`)
}

/** Whether any request of the load has this method. @param {Asked} asked @param {string} name */
export function sends({ method, entries = [{ method }], replay }, name) {
  return replay ? replay.methods.includes(name) : entries.some((entry) => entry.method === name)
}
