import { normal } from '../../../load/system/random.js'
import {
  BY_TURNS,
  nameOf,
  orderOf,
  REQUESTS_PER_TURN,
  STAGE_NAMES,
  variantsOf,
} from '../../../tuning/experiments/ablate/stages.js'
import { randomOf } from './service.js'

/**
 * @import { AblatePlan } from '../../../tuning/experiments/ablate/steps.js'
 * @import { Seen, Step } from './record.js'
 * @import { Serve } from './service.js'
 */

/** CPU of each stage of a request: nothing, next to nothing, and a lot. */
export const COSTS_US = /** @type {Record<string, number>} */ ({
  ...{ log: 15, validate: 0, 'read-and-parse': 8, pool: 4, commit: 0, database: 70, headers: 3 },
})

/** What no stage accounts for. */
export const REST_US = 100

/** CPU of Postgres for each request, of which the commit takes a half. */
const POSTGRES_US = 40

export const SUM_US = STAGE_NAMES.reduce((sum, stage) => sum + COSTS_US[stage], REST_US)

/**
 * A service whose requests cost what their stages cost, for ablate.
 * @param {Pick<AblatePlan, 'stages' | 'slow_us' | 'rate_rps'>} plan
 * @param {{ noise?: number, drift?: number, seed?: number, shared_us?: number }} [options] noise: standard deviation of a
 *   turn and of a trial; drift: of a round and of a block; shared_us: spent as long as one of log and database is there
 * @returns {Serve}
 */
export function createStages(plan, { noise = 0.03, drift = 0.2, seed = 1, shared_us = 0 } = {}) {
  const cells = variantsOf(plan.stages).map(nameOf)
  const costs_us = new Map(variantsOf(plan.stages).map((without) => [nameOf(without), costOf(without)]))
  const cost_us = (/** @type {string} */ name) => Number(costs_us.get(name))
  const turns = orderOf(cells.length, 0).length

  return (step, { trial }) => {
    const random = randomOf(seed, trial)
    const drawn = (/** @type {number} */ deviation) => Math.exp(deviation * normal(random))
    if (step.cell.variant !== BY_TURNS) {
      const spell = Math.exp(drift * normal(randomOf(seed, -(step.at?.block ?? 0))))
      const us = cost_us(step.cell.variant) * spell * drawn(noise)
      const postgres_us = step.cell.variant === nameOf(['commit']) ? POSTGRES_US / 2 : POSTGRES_US
      const cpu_core_ratio = (postgres_us / us) * drawn(noise)
      return { ...seenOf(step, us), elastic: 'api-cpu', postgres: { cores: '1', cpu_core_ratio } }
    }
    // The round that is on when the trial begins does not count; a tenth of a turn's requests come before it.
    const length = Math.floor((step.load.duration_s * plan.rate_rps) / (turns * REQUESTS_PER_TURN * 1.1)) - 1
    const rounds = Array.from({ length: Math.max(0, length) }, (_, round) => {
      const order = orderOf(cells.length, seed + round)
      const spell = drawn(drift)
      return order.map((cell) => {
        const us = cost_us(cells[cell]) * spell * drawn(noise)
        return [cell, us, 2 * us]
      })
    })
    return { ...seenOf(step, SUM_US), target: { cells, rounds } }
  }

  /** @param {string[]} without */
  function costOf(without) {
    const kept = (/** @type {string} */ stage) => !without.includes(stage)
    const stages_us = STAGE_NAMES.filter(kept).reduce((sum, stage) => sum + COSTS_US[stage], REST_US)
    const planted_us = Object.entries(plan.slow_us).reduce((sum, [stage, us]) => sum + (kept(stage) ? us : 0), 0)
    return stages_us + planted_us + (kept('log') || kept('database') ? shared_us : 0)
  }
}

/** @param {Step} step @param {number} us of CPU for each request @returns {Seen} */
function seenOf({ load }, us) {
  const ok_rps = load.loop === 'open' ? Number(load.rate_rps) : 1e6 / us
  const cpu_core_ratio = Math.min(1, (ok_rps * us) / 1e6)
  const mean_ms = load.loop === 'open' ? 2 : (load.connections / ok_rps) * 1000
  return { ok_rps, mean_ms, api: { cpu_core_ratio, cpu_us_per_request: us } }
}
