import { UsageError } from '../../command/errors.js'

/** What a driver is asked whether it can do. @typedef {{ url: string, method: string, entries?: { method: string }[] }} Asked */

/** For a driver that sends one kind of request only. @param {string} driver @param {Asked} asked */
export function refuseEntries(driver, { entries }) {
  if (!entries) return
  const expected = 'a closed-loop --driver (client, autocannon, wrk or locust)'
  throw new UsageError(`--mix: expected ${expected}, got ${driver}, which sends one kind of request`)
}

/**
 * For a driver that does not check certificates, and waits for the body that an answer to HEAD announces: no option of
 * autocannon 9.0.0 (lib/httpClient.js) or wrk 4.1.0 (src/ssl.c) changes that.
 *
 * @param {string} driver @param {Asked} asked
 */
export function refuseHttpsAndHead(driver, asked) {
  const isHttps = asked.url.startsWith('https:')
  if (!isHttps && !sends(asked, 'HEAD')) return
  const what = isHttps ? 'https, since it does not check certificates' : 'HEAD'
  throw new UsageError(`${driver} cannot do ${what}: expected --driver client (closed loop) or paced (open loop)`)
}

/** Whether any request of the load has this method. @param {Asked} asked @param {string} name */
export function sends({ method, entries = [{ method }] }, name) {
  return entries.some((entry) => entry.method === name)
}
