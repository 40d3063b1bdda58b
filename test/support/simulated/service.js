import { normal, seededRandom } from '../../../load/system/random.js'

/**
 * @import { Service } from '../../../tuning/experiments/simulate/curves.js'
 * @import { Slo } from '../../../load/report/record.js'
 */

/**
 * The truth about a simulated service.
 * @typedef {object} Truth
 * @property {number} capacity_rps
 * @property {number} [least_ms] mean latency of a request that waits for nobody (default 5)
 * @property {number} [noise] standard deviation of the logarithm of the capacity, from trial to trial (default 0)
 * @property {number} [latency_noise] the same of the latency (default 0)
 * @property {number | null} [refusal] status with which it refuses at once what is beyond its capacity; null: it queues
 * @property {'api-cpu' | 'pool-size'} [limit] what its capacity is used up of (default its core)
 * @property {number} [cpu_us] of a core per request (default: what fills the core at the capacity)
 * @property {number} [generator_rps] what the generator can do (default: a million)
 * @typedef {import('./record.js').Seen} Seen
 * @typedef {import('./record.js').Step} Step
 * @typedef {(step: Step, trial: { trial: number, at_s: number, settings?: Record<string, any> }) => Seen} Serve
 */

/**
 * A service with a known truth. What happens in a trial depends on the seed and the trial's number alone, so that a run
 * that was cut off meets what it would have met.
 * @param {Truth | ((step: Step) => Truth)} truth by step where cells or sides differ
 * @param {{ seed?: number }} [options]
 * @returns {Serve}
 */
export function createService(truth, { seed = 1 } = {}) {
  return (step, { trial, settings = {} }) => {
    const known = typeof truth === 'function' ? truth(step) : truth
    const random = randomOf(seed, trial)
    const factor = Math.exp((known.noise ?? 0) * normal(random))
    const slower = Math.exp((known.latency_noise ?? 0) * normal(random))
    const own = {
      ...known,
      pool_max: Number(settings.POOL_MAX ?? 20),
      capacity_rps: known.capacity_rps * factor,
      least_ms: (known.least_ms ?? 5) * slower,
    }
    return step.load.loop === 'closed' ? closedLoop(own, step.load) : openLoop(own, step.load)
  }
}

/** Numbers for one trial: neighbouring seeds would start neighbouring sequences. @param {number} seed @param {number} trial */
export function randomOf(seed, trial) {
  return seededRandom(Math.imul(seed, 2_654_435_761) ^ Math.imul(trial, 0x9e3779b1))
}

/** @typedef {Truth & { least_ms: number, pool_max: number }} Known */

const GENERATOR_RPS = 1_000_000

/** @param {Known} truth @param {Step['load']} load @returns {Seen} */
function closedLoop(truth, { connections, per_worker_rps }) {
  const { capacity_rps, least_ms, refusal = null, generator_rps = GENERATOR_RPS } = truth
  const alone_rps = (connections / least_ms) * 1000
  const asked_rps = Math.min(alone_rps, per_worker_rps ? connections * per_worker_rps : alone_rps)
  if (refusal !== null && asked_rps > capacity_rps) {
    const refused_rps = Math.min(asked_rps, generator_rps) - capacity_rps
    const generator_cores = Math.min(1, asked_rps / generator_rps)
    const busy = insideOf(truth, capacity_rps, 1)
    return { ok_rps: capacity_rps, refused_rps, refusal, mean_ms: least_ms, generator_cores, ...busy }
  }
  const ok_rps = Math.min(asked_rps, capacity_rps, generator_rps)
  const isIdle = ok_rps === asked_rps
  const mean_ms = isIdle ? least_ms : (connections / ok_rps) * 1000
  return {
    ok_rps,
    mean_ms,
    generator_cores: ok_rps / generator_rps,
    ...insideOf(truth, ok_rps, isIdle ? ok_rps / capacity_rps : 1),
  }
}

/** @param {Known} truth @param {Step['load']} load @returns {Seen} */
function openLoop(truth, load) {
  const { capacity_rps, least_ms, refusal = null, generator_rps = GENERATOR_RPS } = truth
  const rate_rps = Number(load.rate_rps)
  const used = rate_rps / capacity_rps
  const sent = { generator_cores: Math.min(1, rate_rps / generator_rps), ...latenessOf(rate_rps / generator_rps, load) }
  // Behind one server whose requests all take as long (Pollaczek and Khinchine).
  const waits_ms = least_ms + ((1000 / capacity_rps) * used) / (2 * Math.max(0.02, 1 - used))
  if (used <= 1) {
    // A late generator's lateness is part of each latency.
    const mean_ms = waits_ms + (sent.lateness_ms ?? 0) / 2
    return {
      ok_rps: rate_rps,
      mean_ms,
      p99_ms: 3 * waits_ms + (sent.lateness_ms ?? 0),
      ...sent,
      ...insideOf(truth, rate_rps, used),
    }
  }
  if (refusal !== null) {
    const refused_rps = rate_rps - capacity_rps
    return {
      ok_rps: capacity_rps,
      refused_rps,
      refusal,
      mean_ms: least_ms,
      ok_mean_ms: waits_ms,
      ...sent,
      ...insideOf(truth, capacity_rps, 1),
    }
  }
  // What is beyond the capacity queues up until the load ends; no request waits longer than its timeout.
  const timeout_s = /** @type {any} */ (load).timeout_s ?? 10
  const last_s = load.duration_s * (used - 1)
  const timed_out_rps = last_s > timeout_s ? rate_rps * (1 - timeout_s / last_s) : 0
  const late_s = Math.min(last_s, timeout_s)
  const mean_ms = least_ms + (late_s / 2) * 1000
  const p99_ms = least_ms + 0.99 * late_s * 1000
  return {
    ok_rps: rate_rps - timed_out_rps,
    timed_out_rps,
    late_s,
    mean_ms,
    p99_ms,
    ...sent,
    ...insideOf(truth, capacity_rps, 1),
  }
}

/** @param {number} used share of what the generator can do @param {Step['load']} load */
function latenessOf(used, { duration_s }) {
  return used <= 1 ? {} : { lateness_ms: duration_s * (1 - 1 / used) * 1000 }
}

/** What the probes see in it. @param {Known} truth @param {number} served_rps @param {number} used share of its capacity */
function insideOf({ capacity_rps, cpu_us, limit = 'api-cpu', pool_max }, served_rps, used) {
  const each_us = cpu_us ?? (limit === 'api-cpu' ? 0.97e6 : 0.4e6) / capacity_rps
  const cpu_core_ratio = Math.min(1, (served_rps * each_us) / 1e6)
  if (limit === 'api-cpu') return { elastic: limit, api: { cpu_core_ratio, cpu_us_per_request: each_us } }
  const pool = {
    pool_used_mean: pool_max * Math.min(1, used),
    pool_waiting_mean: used < 1 ? 0 : 10,
    statement_mean_ms: 5,
  }
  return { api: { cpu_core_ratio, cpu_us_per_request: each_us, ...pool } }
}

/**
 * A service of `npm run simulate`, whose curve gives the outcome of each rate.
 * @param {Service} curve
 * @param {Slo} slo
 * @returns {Serve}
 */
export function onCurve(curve, { p99_ms: slo_ms }) {
  return ({ load }) => {
    const { rate_rps, duration_s, connections } = load
    if (rate_rps === null) {
      const ok_rps = Math.min(curve.plateau_rps, (connections * curve.plateau_rps) / 20)
      return { ok_rps, mean_ms: (connections / ok_rps) * 1000 }
    }
    const { verdict, score } = curve.trial({ rate_rps, duration_s })
    if (verdict === 'invalid') return { ok_rps: rate_rps, mean_ms: slo_ms, p99_ms: 2 * slo_ms, lateness_ms: 2 * slo_ms }
    const p99_ms = slo_ms * Math.exp(score)
    return { ok_rps: rate_rps, mean_ms: p99_ms / 3, p99_ms }
  }
}
