import { markdownOf } from '../../../load/report/markdown.js'
import { analyse, report } from '../../../tuning/experiments/ablate/report.js'
import { nextStep } from '../../../tuning/experiments/ablate/steps.js'
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
 * A run against a simulated service whose requests cost what their stages cost. It belongs to all who ask for it: who wants
 * to change its trials takes copyOf them.
 * @param {{ plan?: any, seed?: number } & Parameters<typeof createStages>[1]} [options]
 */
export function runOf({ plan = PLAN, seed = 1, ...costs } = {}) {
  const key = JSON.stringify({ plan, seed, costs })
  const records =
    runs.get(key) ??
    frozen(recordsOf({ ...plan, mix: { ...plan.mix, seed } }, nextStep, createStages(plan, { seed, ...costs })))
  runs.set(key, records)
  return records
}

/** The report of some trials. @param {any} plan @param {any[]} records @param {any} [run] */
export function textOf(plan, records, run = {}) {
  return markdownOf(report(analyse(plan, records, run)))
}

/** @param {any[]} records */
export function copyOf(records) {
  return structuredClone(records)
}

/** What a test may be tempted to change. @param {any[]} records */
function frozen(records) {
  for (const { probes, traffic, outcome } of records) {
    for (const part of [probes.target?.rounds, ...Object.values(probes), probes, traffic, outcome]) Object.freeze(part)
  }
  return records
}
