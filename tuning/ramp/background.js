import { startGenerator } from '../../load/drive.js'

const CONNECTIONS = 64

/** The load is put on in slices, so that it can end between two of them with every request answered. */
const SLICE_S = 0.5

/**
 * The target with writes beside each trial, by a generator of their own.
 *
 * @param {import('../../load/targets/index.js').Target} target
 * @param {object} background
 * @param {number} background.rate_rps
 * @param {import('../../load/mix.js').MixPlan} background.mix
 * @param {number} background.timeout_s
 * @param {AbortSignal} signal
 * @returns {import('../../load/targets/index.js').Target}
 */
export function withBackground(target, { rate_rps, mix, timeout_s }, signal) {
  let trial = 0
  return {
    ...target,
    writesBeside: true,
    settings: { ...target.settings, BACKGROUND_RPS: rate_rps },
    disturb: async () => {
      const load = {
        driver: 'paced',
        url: target.url,
        mix,
        trial: ++trial,
        rate_rps,
        connections: CONNECTIONS,
        timeout_s,
      }
      const generator = await startGenerator(load, signal, () => {})
      const { done, end } = inSlices(() => generator.run(SLICE_S))
      return async () => {
        end()
        try {
          return { offered_rps: rate_rps, ...(await done) }
        } finally {
          await generator.close()
        }
      }
    },
  }
}

/** @param {() => Promise<import('../../load/drivers/recorder.js').Traffic>} run */
function inSlices(run) {
  let ended = false
  const sum = { sent: 0, ok: 0, completed: 0, latency_ms: 0 }
  const start_ms = performance.now()
  const work = async () => {
    while (!ended) {
      const { sent, completed, status, latency_ms } = await run()
      sum.sent += sent
      sum.completed += completed
      sum.ok += Object.entries(status).reduce((all, [code, count]) => all + (code[0] === '2' ? count : 0), 0)
      sum.latency_ms += completed * (latency_ms?.mean ?? 0)
    }
    return {
      achieved_rps: Number((sum.ok / ((performance.now() - start_ms) / 1000)).toFixed(2)),
      sent: sum.sent,
      ok: sum.ok,
      mean_ms: sum.completed === 0 ? null : Number((sum.latency_ms / sum.completed).toFixed(3)),
    }
  }
  const done = work()
  // Whoever ends it hears of it.
  done.catch(() => {})
  return {
    done,
    end: () => {
      ended = true
    },
  }
}
