import { seededRandom } from '../../../load/random.js'
import { BY_TURNS, PLANTED, STAGE_NAMES, turnsOf, WHOLE, withoutOf } from '../../../tuning/ablate/stages.js'
import { nextStep } from '../../../tuning/ablate/steps.js'
import { visitsOf } from '../../../tuning/design.js'

/** What each stage costs in a made-up service: nothing, next to nothing, and a lot. */
export const COSTS_US = /** @type {Record<string, number>} */ ({
  ...{ log: 15, validate: 0, 'read-and-parse': 8, pool: 4, commit: 0, database: 70, headers: 3 },
  [PLANTED]: 20,
})
export const REST_US = 100
export const SUM_US = STAGE_NAMES.reduce((sum, stage) => sum + COSTS_US[stage], REST_US)

export const PLAN = /** @type {any} */ ({
  ...{ stages: STAGE_NAMES, slow_us: {}, consumers: ['paced', 'autocannon'], rate_rps: 2000 },
  ...{ rounds: 24, blocks: 8, duration_s: 1, mix: { seed: 1 } },
})

export const THREE = { ...PLAN, consumers: ['paced', 'autocannon', 'client'] }

/**
 * A run against a service whose requests cost what their stages cost.
 *
 * @param {{ plan?: any, noise?: number, drift?: number, seed?: number, shared_us?: number }} options noise: standard
 *   deviation of a turn and of a trial; drift: of a round and of a block; shared_us: spent as long as one of log and
 *   database is there
 * @returns {any[]}
 */
export function runOf({ plan = PLAN, noise = 0.03, drift = 0.2, seed = 1, shared_us = 0 } = {}) {
  const random = seededRandom(seed)
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const cells = turnsOf(plan)
  const own = { ...plan, mix: { seed } }
  /** @type {any[]} */
  const records = []
  /** @type {Record<string, number>} */
  const drifts = {}
  for (let step = nextStep(own, records); step && records.length < 5000; step = nextStep(own, records)) {
    const us = step.cell === BY_TURNS ? SUM_US : costOf(String(step.cell), step.experiment.split('/')[1])
    const rounds = Math.floor((step.load.duration_s * plan.rate_rps) / (turnsIn(cells) * 110)) - 1
    const target = step.cell === BY_TURNS ? { cells, rounds: Array.from({ length: rounds }, roundOf) } : undefined
    records.push({
      ...step,
      outcome: { verdict: 'pass', because: 'made up' },
      probes: { api: { cpu_us_per_request: us }, generator: {}, target },
      traffic: { goodput_rps: 1e6 / us, per_second: [{ ok: 1e6 / us }] },
    })
  }
  return records

  /** @param {unknown} _ @param {number} round */
  function roundOf(_, round) {
    const order = visitsOf({ cells, anchor: WHOLE, blocks: 1, seed: seed + round })
    return order.map(({ cell }) => {
      const us = costOf(cell, `${records.length}/${round}`)
      return [cells.indexOf(cell), us, 2 * us]
    })
  }

  /** @param {string} cell @param {string} spell of the machine */
  function costOf(cell, spell) {
    const without = withoutOf(cell)
    drifts[spell] ??= Math.exp(drift * normal())
    const kept = (/** @type {string} */ stage) => !without.includes(stage)
    const stages_us = STAGE_NAMES.filter(kept).reduce((sum, stage) => sum + COSTS_US[stage], REST_US)
    const planted = Object.keys(plan.slow_us).some(kept) && kept(PLANTED) ? COSTS_US[PLANTED] : 0
    const shared = kept('log') || kept('database') ? shared_us : 0
    return (stages_us + planted + shared) * drifts[spell] * Math.exp(noise * normal())
  }
}

/** In a round. @param {string[]} cells */
function turnsIn(cells) {
  return visitsOf({ cells, anchor: WHOLE, blocks: 1, seed: 0 }).length
}
