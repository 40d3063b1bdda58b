import { startBeside } from '../../../load/generators/beside.js'
import { createUserMix, seedBeside } from '../../../load/generators/mix.js'
import { addressOf } from '../../../load/targets/index.js'

/**
 * @import { Target } from '../../../load/targets/index.js'
 * @import { RampPlan } from './design.js'
 */

const LEAST_CONNECTIONS = 64

/** Latency that the connections must allow for, in ceilings: rungs above the ceiling are slower than it. */
const CEILINGS = 2

/**
 * A target to which a second generator writes on a schedule during each trial: from before the warm-up until the trial ends and
 * each write is answered.
 * @param {Target} target @param {Pick<RampPlan, 'background_rps' | 'ceiling_ms' | 'timeout_s' | 'mix'>} plan
 * @returns {Target}
 */
export function withBackground(target, { background_rps: rate_rps, ceiling_ms, timeout_s, mix: { seed, headers } }) {
  const connections = Math.max(LEAST_CONNECTIONS, Math.ceil((rate_rps * CEILINGS * ceiling_ms) / 1000))
  const mix = { ...createUserMix(seedBeside(seed)), headers }
  return {
    ...target,
    writesBeside: true,
    settings: { ...target.settings, BACKGROUND_RPS: rate_rps },
    disturb: (_generator, _at, { trial }, signal) =>
      startBeside({ driver: 'paced', ...addressOf(target), mix, trial, rate_rps, connections, timeout_s }, signal),
  }
}
