import { SEARCH_DEFAULTS } from '../capacity/search.js'
import { UsageError } from '../command/errors.js'

/** @import { Driver } from '../generators/drivers/index.js' */

/** Limit on a trial's requests: some drivers, such as vegeta, return all results at the end, and we read them into memory. */
const MAX_REQUESTS = 100_000_000
/** Flags that only a search for the capacity heeds. */
const OF_SEARCH = ['sustained', 'quick', 'no-confirm', 'no-proof']
/** Flags that contradict --replay. */
const NOT_REPLAYED = ['mix', 'body', 'method', 'rates', 'arrivals']

/**
 * Refuses flags that contradict each other, or would be ignored.
 * @param {Driver} driver @param {Record<string, any>} flags @param {number[]} connections @throws {UsageError}
 */
export function refuseMisfits({ name, loop }, flags, connections) {
  const isClosed = loop === 'closed'
  const finds = !flags.rates && !flags.speed && !isClosed
  const ofSearch = OF_SEARCH.find((flag) => flags[flag])
  const other = NOT_REPLAYED.find((flag) => flags[flag] !== undefined)
  refuse({
    [`--rates: expected an open-loop driver (paced or vegeta), got ${name}, which takes --connections`]:
      isClosed && flags.rates,
    [`--connections: expected one number for the open-loop driver ${name}, got ${connections}`]:
      !isClosed && connections.length > 1,
    '--slo: cannot be combined with --slo-p99 or --slo-success':
      flags.slo && (flags['slo-p99'] || flags['slo-success']),
    [`--slo: expected one for the closed-loop driver ${name}, which finds no capacity, got ${flags.slo?.length}`]:
      isClosed && flags.slo?.length > 1,
    [`--unbounded: expected --driver vegeta, got ${name}, whose connections are a fixed set`]:
      flags.unbounded && name !== 'vegeta',
    '--unbounded: cannot be combined with --connections, which bounds vegeta': flags.unbounded && flags.connections,
    '--speed: requires --replay': flags.speed && !flags.replay,
    '--duration: cannot be combined with --speed, which plays the whole log': flags.speed && flags.duration,
    [`--${other}: cannot be combined with --replay, which sends what the log holds`]: flags.replay && other,
    [`--replay: expected --driver paced, got ${name}`]: flags.replay && name !== 'paced',
    '--replay: requires --url; the local API does nothing but store users': flags.replay && !flags.url,
    [`--arrivals: expected --driver paced, got ${name}, which sends evenly or as answers come`]:
      flags.arrivals === 'poisson' && name !== 'paced',
    [`--${ofSearch}: expected an open-loop search for the capacity, without --rates or --speed`]: ofSearch && !finds,
    '--dose: expected an open-loop search with a proof, without --rates, --speed, --quick or --no-proof':
      flags.dose !== undefined && (!finds || flags.quick || flags['no-proof']),
    '--dose: with --url requires --start or --pid, since the proof slows processes it knows':
      flags.dose !== undefined && flags.url && !flags.start && !flags.pid,
    '--start: requires --url, at which the service will answer': flags.start && !flags.url,
    '--pid: cannot be combined with --start, whose process is known': flags.pid && flags.start,
    "--pid: requires --url; the local API's own processes are known": flags.pid && !flags.url,
    "--postgres-url: requires --url; the local API's own database is --database-url":
      flags['postgres-url'] && !flags.url,
    "--metrics-url: requires --url; the local API's own page is always read": flags['metrics-url'] && !flags.url,
  })
}

/** Refuses trials that are too short or too long. @param {Record<string, any>} flags @param {number} duration_s @throws {UsageError} */
export function refuseLengths(flags, duration_s) {
  const requests = (flags.rates ?? []).map((/** @type {number} */ rate_rps) => rate_rps * duration_s)
  const [least, most] = [Math.min(...requests), Math.max(...requests)]
  const usual_s = Math.max(duration_s, SEARCH_DEFAULTS.max_duration_s)
  refuse({
    [`--sustained: expected more than ${usual_s}s, which a usual trial may take, got ${flags.sustained / 1000}s`]:
      flags.sustained / 1000 <= usual_s,
    [`--duration: expected time for one request at each rate, got ${least.toFixed(2)} requests`]: least < 1,
    [`--duration: expected at most ${MAX_REQUESTS} requests in a trial, got ${most}`]: most > MAX_REQUESTS,
  })
}

/** @param {Record<string, unknown>} misfits messages, and whether they apply @throws {UsageError} */
export function refuse(misfits) {
  const [misfit] = Object.entries(misfits).filter(([, isMisfit]) => isMisfit)
  if (misfit) throw new UsageError(misfit[0])
}
