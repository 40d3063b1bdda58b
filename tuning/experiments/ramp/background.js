import { startGenerator } from '../../../load/generators/drive.js'
import { createUserMix, seedBeside } from '../../../load/generators/mix.js'

/**
 * @import { Target } from '../../../load/targets/index.js'
 * @import { RampPlan } from './design.js'
 */

const LEAST_CONNECTIONS = 64

/** Above the ceiling, answers take longer than the ceiling. */
const CEILINGS = 2

/** The trial ends it sooner. */
const LONGEST_S = 24 * 3600

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
    disturb: async (_generator, _at, trial, signal) => {
      const load = { driver: 'paced', url: target.url, mix, trial, rate_rps, connections, timeout_s }
      const generator = await startGenerator(load, signal, () => {})
      const running = generator.run(LONGEST_S)
      // The trial's end awaits it; until then a rejection must not count as unhandled.
      running.catch(() => {})
      return async () => {
        try {
          generator.enough()
          const { planned, ok, goodput_rps, latency_ms } = await running
          return { offered_rps: rate_rps, goodput_rps, planned, ok, mean_ms: latency_ms?.mean ?? null }
        } finally {
          await generator.close()
        }
      }
    },
  }
}
