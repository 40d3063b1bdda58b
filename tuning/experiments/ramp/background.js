import { startGenerator } from '../../../load/generators/drive.js'

/**
 * @import { Traffic } from '../../../load/generators/drivers/recorder.js'
 * @import { MixPlan } from '../../../load/generators/mix.js'
 * @import { Beside, Target } from '../../../load/targets/index.js'
 * @import { RampPlan } from './steps.js'
 */

const LEAST_CONNECTIONS = 64

/** Answers take longer than the ceiling where it is passed. */
const CEILINGS = 2

/** Longer than any trial: it is told when it is enough. */
const LONGEST_S = 24 * 3600

/**
 * The target with writes beside each trial, on a schedule, by a generator of their own. They begin before the warm-up and
 * end with the trial, each of them answered.
 *
 * @param {Target} target
 * @param {Pick<RampPlan, 'background_rps' | 'ceiling_ms' | 'timeout_s'>} plan
 * @param {MixPlan} mix of the writes
 * @param {AbortSignal} signal
 * @returns {Target}
 */
export function withBackground(target, plan, mix, signal) {
  const { background_rps: rate_rps, ceiling_ms, timeout_s } = plan
  const connections = Math.max(LEAST_CONNECTIONS, Math.ceil((rate_rps * CEILINGS * ceiling_ms) / 1000))
  return {
    ...target,
    writesBeside: true,
    settings: { ...target.settings, BACKGROUND_RPS: rate_rps },
    disturb: async (_generator, _experiment, trial) => {
      const load = { driver: 'paced', url: target.url, mix, trial, rate_rps, connections, timeout_s }
      const generator = await startGenerator(load, signal, () => {})
      const running = generator.run(LONGEST_S)
      // Whoever ends it hears of it.
      running.catch(() => {})
      return async () => {
        try {
          generator.enough()
          return besideOf(rate_rps, /** @type {any} */ (await running))
        } finally {
          await generator.close()
        }
      }
    },
  }
}

/**
 * @param {number} offered_rps
 * @param {Traffic} traffic
 * @returns {Beside}
 */
function besideOf(offered_rps, { planned, success_ratio, goodput_rps, latency_ms }) {
  const ok = Math.round(success_ratio * planned)
  return { offered_rps, goodput_rps, planned, ok, mean_ms: latency_ms?.mean ?? null }
}
