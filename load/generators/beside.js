import { startGenerator } from './drive.js'

/**
 * @import { Beside } from '../report/record.js'
 * @import { Load } from './drivers/index.js'
 */

/** Upper bound: the caller stops the load sooner. */
const LONGEST_S = 24 * 3600

/**
 * Starts a background load next to a trial's own. The returned function stops it and waits for the last response.
 * @param {Load & { rate_rps: number }} load an open loop @param {AbortSignal} signal @returns {Promise<() => Promise<Beside>>}
 */
export async function startBeside(load, signal) {
  const generator = await startGenerator(load, signal, () => {})
  const running = generator.run(LONGEST_S)
  // The result is awaited later; until then, a rejection must not count as unhandled.
  running.catch(() => {})
  return async () => {
    try {
      generator.enough()
      const { planned, ok, goodput_rps, latency_ms } = await running
      return { offered_rps: load.rate_rps, goodput_rps, planned, ok, mean_ms: latency_ms?.mean ?? null }
    } finally {
      await generator.close()
    }
  }
}
