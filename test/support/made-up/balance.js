import { markdownOf } from '../../../load/report/markdown.js'
import { seededRandom } from '../../../load/system/random.js'
import { PUBLISHED_PARAMETERS } from '../../../tuning/experiments/balance/balancers.js'
import { analyse, report } from '../../../tuning/experiments/balance/report.js'
import { nextStep } from '../../../tuning/experiments/balance/steps.js'
import { recordsOf } from '../simulated/records.js'
import { createService } from '../simulated/service.js'

export const SIZE = { blocks: 2, warmup_s: 1, duration_s: 2, rate_rps: 10 }
const FAILS = { from_s: 1, to_s: 3 }
export const PLAN = /** @type {any} */ ({
  parts: ['overhead', 'strategies', 'crowded', 'failing', 'simulation'],
  sizes: { overhead: SIZE, strategies: SIZE, crowded: SIZE, failing: SIZE },
  fails: { strategies: FAILS, crowded: FAILS, failing: FAILS },
  ...{ haproxy: 'haproxy', endpoints: 2, slots: 16, samples: 5000, parameters: PUBLISHED_PARAMETERS },
  mix: { name: 'create-user', seed: 1 },
  slo: { p99_ms: 10_000, success_ratio: 1 },
})

/** Trials in which nothing goes wrong. @param {any} plan @returns {any[]} */
export function trialsFor(plan) {
  return recordsOf(plan, nextStep, createService({ capacity_rps: 1000 }))
}

/**
 * Made-up records of a run: latency and errors by strategy.
 * @param {Record<string, { p50: number, errors: number, leave_bins?: number, away?: boolean, queued?: number }>} strategies
 * @param {number} [blocks]
 */
export function madeUp(strategies, blocks = 6) {
  const random = seededRandom(5)
  return Array.from({ length: blocks }, (_, block) =>
    Object.entries(strategies).flatMap(([strategy, { p50, errors, leave_bins = 20, away = false, queued = 0 }]) => {
      const noise = 0.95 + 0.1 * random()
      const ms = {
        p25: p50 * 0.8 * noise,
        p50: p50 * noise,
        p75: p50 * 1.5 * noise,
        p95: p50 * 2 * noise,
        mean: p50 * noise,
      }
      const traffic = { planned: 1000, ok: 1000 - Math.round(errors * noise), ok_latency_ms: ms, goodput_rps: 100 }
      const own = Array.from({ length: 60 }, (_, bin) => (bin >= 10 + leave_bins && (away || bin < 30) ? 0 : 3))
      const target = {
        ...{ bin_ms: 100, names: ['a', 'failing'], from_s: 1, to_s: 3 },
        endpoints: [
          { requests: Array(60).fill(3), errors: [], queued: [queued] },
          { requests: own, errors: [], queued: [] },
        ],
      }
      const probes = { generator: {}, target, api: { cpu_us_per_request: p50 * noise } }
      return ['strategies', 'crowded', 'failing', 'overhead'].map((part) => {
        return /** @type {any} */ ({
          at: { phase: 'block', part, block, position: 0 },
          cell: { part, strategy },
          traffic,
          probes,
          outcome: { verdict: 'pass' },
        })
      })
    }),
  ).flat()
}

/** The report of some trials. @param {any} plan @param {any[]} records @param {any} [simulation] */
export function textOf(plan, records, simulation) {
  return markdownOf(report(analyse(plan, records, { simulation })))
}
