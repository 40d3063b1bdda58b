import { startGenerator } from '../../load/drive.js'

const LEAST_CONNECTIONS = 64

/** Answers take longer than the ceiling where it is passed. */
const CEILINGS = 2

/**
 * The target with writes beside each trial, on a schedule, by a generator of their own. They begin before the warm-up and
 * end with the trial or soon after, each of them answered.
 *
 * @param {import('../../load/targets/index.js').Target} target
 * @param {Pick<import('./steps.js').RampPlan, 'background_rps' | 'warmup_s' | 'duration_s' | 'ceiling_ms' | 'timeout_s'>} plan
 * @param {import('../../load/mix.js').MixPlan} mix of the writes
 * @param {AbortSignal} signal
 * @returns {import('../../load/targets/index.js').Target}
 */
export function withBackground(target, plan, mix, signal) {
  const { background_rps: rate_rps, warmup_s, duration_s, ceiling_ms, timeout_s } = plan
  const longest_s = (CEILINGS * ceiling_ms) / 1000
  const connections = Math.max(LEAST_CONNECTIONS, Math.ceil(rate_rps * longest_s))
  let trial = 0
  return {
    ...target,
    writesBeside: true,
    settings: { ...target.settings, BACKGROUND_RPS: rate_rps },
    disturb: async () => {
      const load = { driver: 'paced', url: target.url, mix, trial: ++trial, rate_rps, connections, timeout_s }
      const generator = await startGenerator(load, signal, () => {})
      const running = generator.run(warmup_s + duration_s + longest_s)
      // Whoever ends it hears of it.
      running.catch(() => {})
      return async () => {
        try {
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
 * @param {import('../../load/drivers/recorder.js').Traffic} traffic
 * @returns {import('../../load/targets/index.js').Beside}
 */
function besideOf(offered_rps, { planned, success_ratio, goodput_rps, latency_ms }) {
  const ok = Math.round(success_ratio * planned)
  return { offered_rps, goodput_rps, planned, ok, mean_ms: latency_ms?.mean ?? null }
}
