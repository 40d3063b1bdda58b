import { latencyBounds } from '../report/slo.js'

/** @import { Bounds, Distribution, Slo, TrialTraffic } from '../report/record.js' */

/**
 * The latencies of a trial that its SLO bounds, and those of the mix's entries that have SLOs of their own. An entry without an
 * answer has none.
 * @param {Pick<TrialTraffic, 'latency_ms' | 'by_entry'>} traffic @param {Slo} slo
 */
export function boundedLatencies({ latency_ms, by_entry = {} }, slo) {
  const of = (/** @type {Bounds} */ bounds, /** @type {Distribution | null} */ seen, entry = '') =>
    latencyBounds(bounds).map(([name, bound_ms]) => {
      return { entry, name, bound_ms, seen_ms: seen?.[name] ?? Number.POSITIVE_INFINITY }
    })
  const entries = Object.entries(slo.by_entry ?? {}).flatMap(([entry, bounds]) => {
    const seen = by_entry[entry]?.latency_ms
    return seen ? of(bounds, seen, entry) : []
  })
  return [...of(slo, latency_ms), ...entries]
}

/** The latencies that exceed their bounds. @param {Parameters<typeof boundedLatencies>[0]} traffic @param {Slo} slo */
export function brokenBounds(traffic, slo) {
  return boundedLatencies(traffic, slo).filter(({ seen_ms, bound_ms }) => seen_ms > bound_ms)
}

/** Entries with too few successes. A request that got no answer counts as none; isRefused: the answers alone are too few. @param {Pick<TrialTraffic, 'by_entry'>} traffic @param {Slo} slo */
export function failingEntries({ by_entry = {} }, slo) {
  return Object.entries(slo.by_entry ?? {}).flatMap(([entry, { success_ratio = 0 }]) => {
    const { ok, completed, failed = 0 } = by_entry[entry] ?? { ok: 0, completed: 0 }
    const ended = completed + failed
    const isRefused = completed > 0 && ok / completed < success_ratio
    return ended > 0 && ok / ended < success_ratio ? [{ entry, ok, ended, completed, success_ratio, isRefused }] : []
  })
}
