import { spawnSync } from 'node:child_process'
import { UsageError } from '../../command/errors.js'

/**
 * @import { Entry } from '../../report/record.js'
 * @typedef {{ url: string, method: string, entries?: Pick<Entry, 'method' | 'take' | 'headers'>[], replay?: { methods: string[] } }} Asked
 *   the requests that a driver is asked to send
 */

/** Refuses a program that is not installed. @param {string} name @param {string} install the command that installs it @throws {UsageError} */
export function requireProgram(name, install) {
  if (spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) return
  throw new UsageError(`--driver: expected ${name} on PATH, found none: ${install}`)
}

/** Returns whether a load needs values from earlier responses or headers with blanks, which only our own drivers support. @param {Asked} asked */
export function needsOwnDriver({ entries = [] }) {
  return entries.some(({ take, headers = {} }) => take || Object.values(headers).some((value) => value.includes('{{')))
}

/** Refuses a load that needs our own drivers. @param {string} driver @param {Asked} asked @throws {UsageError} */
export function refuseTaking(driver, asked) {
  if (!needsOwnDriver(asked)) return
  const expected =
    '--driver paced (open loop), or workers or client (closed loops), for values of earlier responses, and for headers with {{…}}'
  throw new UsageError(`--mix: expected ${expected}, got ${driver}`)
}

/**
 * Refuses https and HEAD, for drivers that do not check certificates and that wait for the body announced by a response to HEAD:
 * no option of autocannon 9.0.0 (lib/httpClient.js) or wrk 4.1.0 (src/ssl.c) changes that.
 * @param {string} driver @param {Asked} asked @throws {UsageError}
 */
export function refuseHttpsAndHead(driver, asked) {
  const isHttps = asked.url.startsWith('https:')
  if (!isHttps && !sends(asked, 'HEAD')) return
  const what = isHttps ? 'https, since it does not check certificates' : 'HEAD'
  throw new UsageError(
    `${driver} cannot do ${what}: expected --driver workers or client (closed loops), or paced (open loop)`,
  )
}

/** Returns whether any request of the load has this method. @param {Asked} asked @param {string} name */
export function sends({ method, entries = [{ method }], replay }, name) {
  return replay ? replay.methods.includes(name) : entries.some((entry) => entry.method === name)
}
