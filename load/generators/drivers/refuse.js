import { UsageError } from '../../command/errors.js'

/** What a driver is asked whether it can do. @typedef {{ url: string, method: string, entries?: { method: string }[] }} Asked */

/** For a driver that sends one kind of request only. @param {string} driver @param {Asked} asked */
export function refuseEntries(driver, { entries }) {
  if (!entries) return
  throw new UsageError(
    `--mix: expected a closed-loop --driver (client, autocannon, wrk or locust), got ${driver}, which sends one kind of request`,
  )
}

/** Whether any request of the load has this method. @param {Asked} asked @param {string} name */
export function sends({ method, entries }, name) {
  return entries ? entries.some((entry) => entry.method === name) : method === name
}
