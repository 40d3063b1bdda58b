import { nextStep } from '../../../tuning/ablate/steps.js'
import { recordsOf } from '../simulated/records.js'
import { createStages } from '../simulated/stages.js'

/** Every stage, by turns and in a closed loop. */
export const PLAN = /** @type {any} */ ({
  ...{ slow_us: {}, consumers: ['paced', 'autocannon'], rate_rps: 2000, rounds: 24, blocks: 8, duration_s: 1 },
  ...{ stages: ['log', 'validate', 'read-and-parse', 'pool', 'commit', 'database', 'headers'] },
  ...{ mix: { name: 'create-user', seed: 1 }, slo: { p99_ms: 10_000, success_ratio: 1 } },
})

export const THREE = { ...PLAN, consumers: ['paced', 'autocannon', 'client'] }

/** @type {Map<string, any[]>} by its options */
const runs = new Map()

/**
 * A run against a simulated service whose requests cost what their stages cost: a copy, which the caller may change.
 *
 * @param {{ plan?: any, seed?: number } & Parameters<typeof createStages>[1]} [options]
 */
export function runOf({ plan = PLAN, seed = 1, ...costs } = {}) {
  const key = JSON.stringify({ plan, seed, costs })
  const records =
    runs.get(key) ??
    recordsOf({ ...plan, mix: { ...plan.mix, seed } }, nextStep, createStages(plan, { seed, ...costs }))
  runs.set(key, records)
  return structuredClone(records)
}
