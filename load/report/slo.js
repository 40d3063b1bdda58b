import { UsageError } from '../command/errors.js'
import { duration, ratioOfPercent } from '../command/flags.js'
import { count } from './format.js'

/** @import { Bounds, Latency, Slo } from './record.js' */

const NAMES = /** @type {Latency[]} */ (['p50', 'p90', 'p95', 'p99', 'p999', 'mean', 'max'])

/** Expected form of an SLO, for messages. */
export const SLO_EXPECTED = `conditions such as p50<5ms,p99<50ms,success>=99.9%, each of ${NAMES.join(', ')} and success at most once`

/** Represents no bound on p99, since JSON has no infinity. No flag accepts a longer time. */
export const UNBOUNDED_MS = 24 * 3_600_000

/**
 * Multiple of a bound that p99 may reach while the bound holds: three times the multiple for exponentially distributed latencies,
 * since real services have longer tails.
 * @type {Partial<Record<Latency, number>>}
 */
const TAILS = { p50: 20, p90: 6, p95: 5, mean: 15 }

/** `p50<5ms,p99<50ms,success>=99.9%` -> its bounds; undefined for any other text. @param {unknown} text @returns {Bounds | undefined} */
export function boundsOf(text) {
  const parts = String(text).split(',').map(conditionOf)
  const found = Object.fromEntries(parts.flatMap((one) => one ?? []))
  if (Object.keys(found).length < parts.length) return undefined
  const { success, p99, ...also_ms } = found
  return {
    ...(p99 && { p99_ms: p99 }),
    ...(success && { success_ratio: success }),
    ...(Object.keys(also_ms).length > 0 && { also_ms }),
  }
}

/** @param {string} text of one condition @returns {[[string, number]] | undefined} its name and bound, in ms or as a ratio */
function conditionOf(text) {
  const [, name, sign, number, unit] = /^\s*(\w+)\s*(<=?|>=)\s*([\d.]+)\s*(\D+?)\s*$/.exec(text) ?? []
  const isLatency = NAMES.some((one) => one === name) && sign !== '>='
  const isSuccess = name === 'success' && sign === '>=' && unit === '%'
  const bound = isLatency ? duration(number + unit) : isSuccess ? ratioOfPercent(number) : undefined
  return bound === undefined ? undefined : [[name, bound]]
}

/** The latencies that an SLO bounds, with their bounds in ms; excludes the bounds of its entries. @param {Bounds} slo */
export function latencyBounds({ p99_ms = UNBOUNDED_MS, also_ms = {} }) {
  const all = { ...also_ms, p99: p99_ms }
  return NAMES.flatMap((name) => {
    const bound_ms = all[name] ?? UNBOUNDED_MS
    return bound_ms < UNBOUNDED_MS ? [/** @type {const} */ ([name, bound_ms])] : []
  })
}

/**
 * Estimate of the highest p99 (ms) of a target that meets an SLO: the bound on its p99, p999 or max. Without such a bound, it follows
 * from the other bounds by TAILS; without any bound, it is the timeout.
 * @param {Bounds} slo @param {number} timeout_s
 */
export function highestP99(slo, timeout_s) {
  const bounds = latencyBounds(slo)
  const certain = bounds.flatMap(([name, bound_ms]) => (name in TAILS ? [] : bound_ms))
  if (certain.length > 0) return Math.min(...certain)
  return Math.min(timeout_s * 1000, ...bounds.map(([name, bound_ms]) => Number(TAILS[name]) * bound_ms))
}

/** The highest p99 (ms) that any SLO of a plan, or of an entry of its mix, allows. @param {{ slo: Slo, slos?: Slo[], timeout_s: number }} plan */
export function highestP99Of({ slo, slos = [slo], timeout_s }) {
  const entries = slos.flatMap(({ by_entry = {} }) => Object.values(by_entry))
  const bounding = entries.filter((bounds) => latencyBounds(bounds).length > 0)
  return Math.max(...[...slos, ...bounding].map((one) => highestP99(one, timeout_s)))
}

/** Minimum length of a trial, as a multiple of the p99 that the SLO allows: until the first answers are due, a backlog says nothing. */
export const TRIAL_TIMES = 3

/** The timeout as a multiple of the longest bound of an SLO, where that exceeds the usual one. */
export const TIMEOUT_TIMES = 2

/**
 * The longest wait (ms) for a response: no shorter than any bound of the SLOs, since a response within them is not late. It is as long
 * as one of them only if asked for: any answer then counts.
 * @param {number | undefined} asked_ms @param {number} usual_ms @param {Slo[]} slos @throws {UsageError}
 */
export function timeoutOf(asked_ms, usual_ms, slos) {
  const all = slos.flatMap((slo) => [slo, ...Object.values(slo.by_entry ?? {})])
  const longest_ms = Math.max(0, ...all.flatMap(latencyBounds).map(([, bound_ms]) => bound_ms))
  const timeout_ms = asked_ms ?? Math.max(usual_ms, TIMEOUT_TIMES * longest_ms)
  if (timeout_ms >= longest_ms) return timeout_ms
  const [least, got] = [longest_ms, timeout_ms].map((ms) => `${ms / 1000}s`)
  throw new UsageError(`--timeout: expected at least the longest bound of the SLO (${least}), got ${got}`)
}

/** An SLO in words: p50 below 5 ms, p99 below 50 ms and 99.9 % successes. @param {Bounds & Partial<Slo>} slo @returns {string} */
export function sloText({ success_ratio = 0, by_entry = {}, ...bounds }) {
  const times = latencyBounds(bounds).map(([name, bound_ms]) => `${name} below ${count(bound_ms)} ms`)
  const success = success_ratio > 0 ? [`${+(success_ratio * 100).toFixed(6)} % successes`] : []
  const own = new Intl.ListFormat('en-GB').format([...times, ...success])
  return [own, ...Object.entries(by_entry).map(([name, entry]) => `${name}: ${sloText(entry)}`)].join('; ')
}
