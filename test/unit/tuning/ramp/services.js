import { seededRandom } from '../../../../load/random.js'
import { nextStep } from '../../../../tuning/ramp/steps.js'

export const PLAN = /** @type {any} */ ({
  ...{ ceiling_ms: 200, most_workers: 1000, growth: 2, close: 1.5, blocks: 8, background_rps: 0 },
  ...{ warmup_s: 0.5, duration_s: 2, mix: { name: 'create-user', seed: 1 }, prices: {} },
  ...{ sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } }, drivers: ['autocannon'], without: null },
})

/** A service with so many requests/s and so long a way to it, in a closed loop. */
export const service =
  (/** @type {number} */ capacity_rps, /** @type {number} */ least_ms) => (/** @type {any} */ load) => {
    const mean_ms = Math.max(least_ms, (load.connections / capacity_rps) * 1000)
    return { mean_ms, rps: (load.connections / mean_ms) * 1000 }
  }

/**
 * A run against made-up services.
 *
 * @param {any} plan
 * @param {Record<string, (load: any) => { mean_ms: number, rps: number, fails?: boolean, generator?: number, waits?: number }>} services
 *   by side, or by side and driver
 * @param {{ noise?: number, invalid?: (step: any, number: number) => boolean }} [options]
 */
export function runOf(plan, services, { noise = 0.03, invalid = () => false } = {}) {
  const random = seededRandom(plan.mix.seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  /** @type {any[]} */
  const records = []
  for (let step = nextStep(plan, records); step && records.length < 1000; step = nextStep(plan, records)) {
    const answer = services[`${step.cell}:${step.load.driver}`] ?? services[String(step.cell)]
    const { mean_ms, rps, fails = false, generator = 0.2, waits = 1 } = answer(step.load)
    const factor = Math.exp(noise * normal())
    const completed = (rps / factor) * step.load.duration_s
    const verdict = invalid(step, records.length) ? 'invalid' : fails ? 'fail' : 'pass'
    records.push({
      ...step,
      outcome: { verdict, because: 'made up' },
      probes: { generator: { cpu_core_ratio: generator }, api: {}, postgres: {}, kernel: {} },
      traffic: {
        ...{ ok: 1, completed, goodput_rps: rps / factor, achieved_rps: rps / factor, success_ratio: fails ? 0.5 : 1 },
        ...{ sent: completed, errors: {} },
        latency_ms: { mean: mean_ms * factor * waits, p99: 2 * mean_ms * factor },
      },
    })
  }
  return records
}

/** @param {number} per_hour @param {number} [storage_gb] */
export function price(per_hour, storage_gb = 0) {
  return { per_hour, storage_gb, per_gb_month: 0.1 }
}
