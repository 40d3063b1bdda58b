import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { NotApplied } from '../../../load/command/errors.js'
import { readMetrics } from '../../../load/probes/metrics.js'
import { openCell } from '../../knobs/open-cell.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Cell } from '../../../load/report/record.js'
 */

const OPEN_CONNECTIONS = 'redline_pool_total'
const SCRAPE_TIMEOUT_MS = 2000

/** Logins at a time: so few finish within any timeout that a cell has. */
const LOGINS = 2
const MOST_BURSTS = 200
const PAUSE_MS = 10

/**
 * Opens the API with the settings of a cell and fills its pool. POOL_CONNECT_TIMEOUT_MS also covers the login of a new connection. Where it
 * is short, under load all logins can time out, so that the pool stays empty, and one effect hides the others: in the article, it was long
 * enough for a login.
 * @param {Cell} cell @param {Place} place @throws {NotApplied} also when the pool does not fill
 */
export async function openFilled(cell, place) {
  const target = await openCell(cell, place)
  try {
    await fillPool(target, Number(cell.POOL_MAX))
    return target
  } catch (error) {
    await target.stop()
    throw error
  }
}

/** @param {{ url: string, metricsUrl: string | null }} target @param {number} pool_max */
async function fillPool({ url, metricsUrl }, pool_max) {
  const user = new URL('/user/1', url)
  let open = 0
  let requests = LOGINS
  for (let burst = 0; burst < MOST_BURSTS; burst++) {
    await Promise.all(Array.from({ length: requests }, () => answered(user)))
    await sleep(PAUSE_MS)
    const metrics = await readMetrics(String(metricsUrl), [OPEN_CONNECTIONS], SCRAPE_TIMEOUT_MS)
    const grown = metrics.sum(OPEN_CONNECTIONS) ?? 0
    if (grown >= pool_max) return
    // The first requests of a burst can be over before the last ones arrive, which then reuse their connections.
    requests = (grown > open ? grown : requests) + LOGINS
    open = grown
  }
  throw new NotApplied(`POOL_MAX: expected ${pool_max} connections to the database before the trial, got ${open}`)
}

/** Resolves when a request on a connection of its own is over, whatever the answer. @param {URL} url */
function answered(url) {
  return new Promise((resolve) => {
    const request = http.get(url, { agent: false }, (response) => void response.resume().once('close', resolve))
    request.once('error', resolve)
  })
}
