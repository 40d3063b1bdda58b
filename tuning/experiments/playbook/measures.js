/** @import { TrialRecord } from '../../../load/run/trial.js' */

/**
 * What claims are about.
 *
 * @typedef {object} Measure
 * @property {string} title with its unit
 * @property {number} decimals
 * @property {(record: TrialRecord) => number | undefined} value
 */

/** @satisfies {Record<string, Measure>} */
export const MEASURES = {
  // Nothing at all has no logarithm.
  goodput: { title: 'goodput, /s', decimals: 0, value: ({ traffic }) => Math.max(1, traffic.goodput_rps) },
  success: { title: 'success, %', decimals: 2, value: ({ traffic }) => Math.max(0.01, 100 * traffic.success_ratio) },
  cpu: { title: 'CPU per request, us', decimals: 1, value: ({ probes }) => probes.api.cpu_us_per_request },
  p99: { title: 'p99, ms', decimals: 1, value: ({ traffic }) => traffic.latency_ms?.p99 },
  ok_p99: { title: 'p99 of the successes, ms', decimals: 1, value: ({ traffic }) => traffic.ok_latency_ms?.p99 },
}
