import { markdownOf } from '../../../load/report/markdown.js'
import { compare } from '../../../tuning/experiments/compare/compare.js'
import { recordsOf } from '../simulated/records.js'
import { createService } from '../simulated/service.js'

export const PLAN = /** @type {any} */ ({
  ...{ concurrency: [1, 10, 100], blocks: 10, ladders: 10, per_worker_rps: 50, duration_s: 1, rung_s: 1 },
  ...{ mix: { name: 'create-user', seed: 1 }, slo: { p99_ms: 10_000, success_ratio: 1 }, driver: 'paced' },
  sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } },
})

/**
 * The trials of a comparison of two simulated services, which answer in 10 ms and sustain 2,000/s unless the options differ.
 * @param {object} [options]
 * @param {number} [options.b] times the latency of a
 * @param {number} [options.noise]
 * @param {number} [options.seed]
 * @param {number} [options.limit_rps] beyond which some sides refuse
 * @param {string} [options.limited] those sides
 * @param {number} [options.refusal] with this status
 * @param {'api-cpu' | 'pool-size'} [options.limit] of both
 * @param {object} [options.plan]
 * @param {(step: any) => number} [options.generator] share of what it can do
 * @param {(step: any) => boolean} [options.invalid]
 */
export function runOf({ b = 1, noise = 0.05, seed = 1, limit_rps, limited = 'ab', refusal = 429, ...options } = {}) {
  const { generator, limit, invalid = () => false } = options
  const plan = { ...PLAN, mix: { ...PLAN.mix, seed }, ...options.plan }
  const serve = createService(
    ({ cell }) => {
      const slower = cell.side === 'b' ? b : 1
      const truth = { capacity_rps: 2000 / slower, least_ms: 10 * slower, noise, latency_noise: noise, limit }
      const isLimited = limit_rps !== undefined && limited.includes(cell.side)
      return isLimited ? { ...truth, capacity_rps: limit_rps, refusal } : truth
    },
    { seed },
  )
  return recordsOf(plan, compare.design, serve, {
    change: (record, step) => {
      if (invalid(step)) record.outcome = /** @type {any} */ ({ verdict: 'invalid', because: 'made up' })
      if (generator) record.probes.generator.cpu_core_ratio = generator(step)
      return record
    },
  })
}

/** Its findings. @param {any[]} records @param {object} [plan] what differs from PLAN @returns {any} */
export function findingsOf(records, plan) {
  return compare.analyse({ ...PLAN, ...plan }, records, {})
}

/** Its report as text. @param {any[]} records @param {object} [plan] what differs from PLAN */
export function textOf(records, plan) {
  return markdownOf(compare.report(findingsOf(records, plan)))
}
