import { normal } from '../../../load/system/random.js'
import { randomOf } from './service.js'

/**
 * @import { BalancePlan } from '../../../tuning/experiments/balance/balance.js'
 * @import { Step } from './record.js'
 * @import { Serve } from './service.js'
 */

const BIN_MS = 250

/**
 * Endpoints behind a balancer, for balance: each strategy has its median latency and its time to leave an endpoint that
 * fails.
 * @param {Pick<BalancePlan, 'fails'>} plan
 * @param {Record<string, { p50_ms: number, leave_s: number, back_s: number }>} truth by strategy
 * @param {{ noise?: number, seed?: number }} [options]
 * @returns {Serve}
 */
export function createEndpoints({ fails }, truth, { noise = 0.02, seed = 1 } = {}) {
  return ({ cell, load }, { trial }) => {
    const { part, strategy } = cell
    const random = randomOf(seed, trial)
    const factor = Math.exp(noise * normal(random))
    const { p50_ms, leave_s, back_s } = truth[strategy] ?? truth.direct
    const window = part === 'failing' ? fails.failing : { from_s: 0, to_s: 0 }
    const times = { leave_at_s: window.from_s + leave_s, back_at_s: window.to_s + back_s }
    return {
      ok_rps: Number(load.rate_rps),
      mean_ms: p50_ms * factor,
      api: { cpu_core_ratio: 0.1, cpu_us_per_request: 50 },
      target: { ...countsOf(load, part === 'failing' ? times : null), ...window },
    }
  }
}

/**
 * As the endpoints count: all alike, but for one that is left for a while.
 * @param {Step['load']} load
 * @param {{ leave_at_s: number, back_at_s: number } | null} times
 */
function countsOf({ duration_s, rate_rps }, times) {
  const names = ['failing', 'second', 'third', 'fourth']
  const bins = Math.round((duration_s * 1000) / BIN_MS)
  const each = Math.max(1, Math.round((Number(rate_rps) * BIN_MS) / 1000 / names.length))
  const isLeft = (/** @type {number} */ bin) => {
    const at_s = (bin * BIN_MS) / 1000
    return times !== null && at_s >= times.leave_at_s && at_s < times.back_at_s
  }
  const endpoints = names.map((_, i) => ({
    requests: Array.from({ length: bins }, (_, bin) => (i === 0 && isLeft(bin) ? 0 : each)),
    errors: Array(bins).fill(0),
    queued: Array(bins).fill(0),
  }))
  return { bin_ms: BIN_MS, names, endpoints }
}
