import { seededRandom } from '../../../load/random.js'
import { nextStep } from '../../../tuning/compare/steps.js'

export const PLAN = /** @type {any} */ ({
  ...{ concurrency: [1, 10, 100], blocks: 10, ladders: 10, per_worker_rps: 50, duration_s: 1, rung_s: 1 },
  ...{ mix: { seed: 1 }, slo: { p99_ms: 10_000, success_ratio: 1 }, driver: 'paced' },
  sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } },
})

/**
 * A run against two made-up services.
 *
 * @param {{ b?: number, noise?: number, seed?: number, limit_rps?: number, limited?: string, refusal?: number, plan?: object, generator?: (step: any) => number, invalid?: (step: any) => boolean }} options b: times the latency
 *   of a; limited: the sides that refuse what is above limit_rps, at once, with this status; generator: cores that it uses
 */
export function runOf(options) {
  const { b = 1, noise = 0.05, seed = 1, limit_rps = Number.POSITIVE_INFINITY, limited = 'ab', refusal = 429 } = options
  const { generator = () => 0.2, invalid = () => false } = options
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  /** @type {any[]} */
  const records = []
  const plan = { ...PLAN, mix: { seed }, ...options.plan }
  for (let step = nextStep(plan, records); step && records.length < 1000; step = nextStep(plan, records)) {
    const { connections, rate_rps, per_worker_rps } = step.load
    const factor = (step.cell === 'b' ? b : 1) * Math.exp(noise * normal())
    const asked_rps = rate_rps ?? Math.min(2000 / factor, connections * (per_worker_rps || 1e9))
    const passed_rps = limited.includes(step.cell ?? '') ? Math.min(asked_rps, limit_rps) : asked_rps
    records.push({
      ...step,
      outcome: { verdict: invalid(step) ? 'invalid' : passed_rps < asked_rps ? 'fail' : 'pass', because: 'made up' },
      probes: { generator: { cpu_core_ratio: generator(step), cores: '0-3' } },
      traffic: {
        ok: 1,
        completed: asked_rps,
        goodput_rps: passed_rps,
        achieved_rps: asked_rps,
        success_ratio: passed_rps / asked_rps,
        status: { 201: passed_rps, ...(passed_rps < asked_rps && { [refusal]: asked_rps - passed_rps }) },
        latency_ms: { p50: passed_rps < asked_rps ? 1 : 10 * factor, p99: 20 * factor },
        ok_latency_ms: { p50: 10 * factor, p99: 20 * factor },
      },
      limit: { resource: 'none-reached', evidence: [], runner_up: null, runner_up_evidence: [] },
    })
  }
  return records
}
