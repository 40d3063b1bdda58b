import { SETTINGS } from '../../../api/settings.js'
import { TIMEOUT } from '../../../load/generators/drivers/errors.js'
import { judge } from '../../../load/verdict/judge.js'
import { limitOf } from '../../../load/verdict/limit.js'
import { dosed } from './doses.js'

/**
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Slo } from '../../../load/report/record.js'
 */

/**
 * What a simulated service did in one trial. Rates are per second of the trial.
 * @typedef {object} Seen
 * @property {number} ok_rps
 * @property {number} [refused_rps] answered with `refusal`
 * @property {number} [refusal] status of a refusal (default 503)
 * @property {number} [timed_out_rps] never answered
 * @property {number} mean_ms of all that was answered
 * @property {number} [p50_ms] default: the mean
 * @property {number} [p99_ms] default: twice the mean
 * @property {number} [ok_mean_ms] of the successes alone, where refusals were faster
 * @property {number} [late_s] from the end of the load to the last answer
 * @property {number} [lateness_ms] of an open loop at p99
 * @property {Record<string, number>} [errors]
 * @property {number} [rows_stored] default: the successes
 * @property {number} [generator_cores] used by the generator
 * @property {Record<string, any>} [api] findings of the probe of the service, beside those that follow from the above
 * @property {Record<string, any>} [postgres]
 * @property {Record<string, any>} [kernel]
 * @property {any} [target] findings of a probe of the target's own
 * @property {string} [elastic] resource whose speed the throughput follows; by default none of those that can be slowed
 * @typedef {import('../../../load/report/record.js').TrialRecord} TrialRecord
 * @typedef {Pick<import('../../../load/report/record.js').Step, 'at' | 'cell' | 'load'> & { experiment?: string }} Step
 * @typedef {object} About what a step does not say about its trial
 * @property {string} run_id
 * @property {number} trial
 * @property {string} started_at
 * @property {Record<string, string | number | null>} settings
 * @property {Pick<Target, 'kind' | 'url' | 'pid' | 'cores' | 'countsRows'>} target
 * @property {Slo} slo
 * @property {{ name: string, seed: number }} mix
 * @property {number} timeout_s
 */

/** The API with nothing set. */
export const API_DEFAULTS = /** @type {Record<string, string | number | null>} */ ({
  ...Object.fromEntries(Object.entries(SETTINGS).map(([name, setting]) => [name, setting.default ?? null])),
  NOFILE: 20_000,
  NODE: 'v20.19.0',
})

/** @type {About} */
const ANY = {
  run_id: 'simulated',
  trial: 1,
  started_at: '2026-01-01T00:00:00.000Z',
  settings: API_DEFAULTS,
  target: { kind: 'local', url: 'http://127.0.0.1:3000/user', pid: 1, cores: '0', countsRows: true },
  slo: { p99_ms: 100, success_ratio: 1 },
  mix: { name: 'create-user', seed: 1 },
  timeout_s: 10,
}

/**
 * A whole record, as runTrial gives it, judged by the judge.
 * @param {Step} step
 * @param {Seen} seen
 * @param {Partial<About>} [about]
 * @returns {TrialRecord}
 */
export function recordOf({ experiment, at, cell, load }, seen, about = {}) {
  const { run_id, trial, started_at, settings, target, slo, mix, timeout_s } = { ...ANY, ...about }
  const { mix: _, trial: __, slices: ___, ...described } = /** @type {any} */ (load)
  const { countsRows, ...shownTarget } = target
  const record = /** @type {any} */ ({
    run_id,
    trial,
    started_at,
    experiment,
    ...(at && { at }),
    cell,
    settings,
    target: shownTarget,
    load: { timeout_s, ...described, mix: mix.name, seed: mix.seed },
    traffic: trafficOf(load, seen, countsRows),
    probes: probesOf(load, seen, target),
  })
  if (load.slices) {
    const { doses, ticks } = dosed(load.slices, ({ resource }) => (resource === seen.elastic ? 1 : 0), { seed: trial })
    record.doses = doses
    record.traffic.ticks = ticks
  }
  record.outcome = judge(record, slo)
  return withLimit(record, slo)
}

/** Its limit is named when it is first asked for: most tests never do. @param {any} record @param {About['slo']} slo */
function withLimit(record, slo) {
  const keep = (/** @type {any} */ value) => {
    Object.defineProperty(record, 'limit', { value, enumerable: true, writable: true, configurable: true })
    return value
  }
  return Object.defineProperty(record, 'limit', {
    get: () => keep(limitOf(record, slo)),
    set: keep,
    enumerable: true,
    configurable: true,
  })
}

/** @param {Step['load']} load @param {Seen} seen @param {boolean} countsRows */
function trafficOf({ loop, duration_s, rate_rps }, seen, countsRows) {
  const { ok_rps, refused_rps = 0, refusal = 503, timed_out_rps = 0, late_s = 0, errors = {} } = seen
  const [refused, timedOut] = [refused_rps, timed_out_rps].map((rps) => Math.round(rps * duration_s))
  const total = Math.round((ok_rps + refused_rps + timed_out_rps) * duration_s)
  const failed = Object.values(errors).reduce((sum, number) => sum + number, 0)
  const planned = loop === 'open' ? Math.max(total, Math.round(Number(rate_rps) * duration_s)) : total
  const ok = Math.max(0, total - refused - timedOut - failed)
  const completed = ok + refused
  const seconds = duration_s + late_s
  const latency_ms = distributionOf(seen.mean_ms, seen)
  return {
    planned,
    ok,
    rows_stored: countsRows ? (seen.rows_stored ?? ok) : null,
    warmup_unanswered: 0,
    sent: planned,
    completed,
    achieved_rps: rounded(completed / seconds),
    goodput_rps: rounded(ok / seconds),
    success_ratio: planned === 0 ? 0 : ok / planned,
    status: { ...(ok > 0 && { 201: ok }), ...(refused > 0 && { [refusal]: refused }) },
    errors: { ...errors, ...(timedOut > 0 && { [TIMEOUT]: timedOut }) },
    latency_ms: completed + timedOut > 0 ? latency_ms : null,
    ok_latency_ms: ok > 0 ? (seen.ok_mean_ms ? distributionOf(seen.ok_mean_ms, {}) : latency_ms) : null,
    queued_ms: null,
    per_second: perSecond(completed, ok, seconds),
    ...(loop === 'open' && { backlog: backlogOf(late_s, duration_s, Number(rate_rps)) }),
  }
}

/** What takes that much longer than the load has fallen behind evenly. @param {number} late_s @param {number} duration_s @param {number} rate_rps */
function backlogOf(late_s, duration_s, rate_rps) {
  const left = (rate_rps * late_s * duration_s) / (duration_s + late_s)
  return Array.from({ length: 20 }, (_, i) => Math.round((left * (i + 1)) / 20))
}

/** As the drivers round. @param {number} value */
function rounded(value) {
  return Math.round(value * 1000) / 1000
}

/** @param {number} completed @param {number} ok @param {number} seconds */
function perSecond(completed, ok, seconds) {
  const length = Math.max(1, Math.ceil(seconds - 1e-9))
  const share = (/** @type {number} */ number, /** @type {number} */ i) =>
    Math.round((number * Math.min(i + 1, seconds)) / seconds) - Math.round((number * i) / seconds)
  return Array.from({ length }, (_, i) => ({ completed: share(completed, i), ok: share(ok, i) }))
}

/** @param {number} mean_ms @param {{ p50_ms?: number, p99_ms?: number }} seen */
export function distributionOf(mean_ms, { p50_ms = mean_ms, p99_ms = 2 * mean_ms }) {
  const beyond = Math.max(0, p99_ms - p50_ms)
  return {
    min: rounded(p50_ms / 2),
    mean: rounded(mean_ms),
    p25: rounded(0.9 * p50_ms),
    p50: rounded(p50_ms),
    p75: rounded(p50_ms + 0.2 * beyond),
    p90: rounded(p50_ms + 0.5 * beyond),
    p95: rounded(p50_ms + 0.75 * beyond),
    p99: rounded(p50_ms + beyond),
    p999: rounded(p50_ms + 1.2 * beyond),
    max: rounded(p50_ms + 1.3 * beyond),
  }
}

/** @param {Step['load']} load @param {Seen} seen @param {About['target']} target */
function probesOf({ loop, connections }, seen, target) {
  const { ok_rps, refused_rps = 0, mean_ms, lateness_ms = 0.1, generator_cores = 0.2 } = seen
  const answered_rps = ok_rps + refused_rps
  const cpu_core_ratio = seen.api?.cpu_core_ratio ?? 0.5
  const api = {
    cpu_core_ratio,
    main_core_ratio: cpu_core_ratio,
    elu_ratio: cpu_core_ratio,
    cpu_us_per_request: (cpu_core_ratio / Math.max(1, answered_rps)) * 1e6,
    rss_bytes: 80 * 2 ** 20,
    open_files: 24 + connections,
    open_files_max: 20_000,
    connections_max: 10_000,
    in_flight_mean: Math.min(0.8 * connections, (answered_rps * mean_ms) / 1000),
    gc_ratio: 0.01,
    loop_delay_p99_ms: 3,
    loop_delay_max_ms: 5,
    hashing_mean: 0,
    dropped_connections: 0,
    problems: {},
    shed: {},
  }
  const lateness = loop === 'open' ? { lateness_ms: distributionOf(lateness_ms / 2, { p99_ms: lateness_ms }) } : {}
  const cores = {
    0: { busy_ratio: cpu_core_ratio, interrupts_ratio: 0, steal_ratio: 0 },
    1: { busy_ratio: Math.min(1, generator_cores), interrupts_ratio: 0, steal_ratio: 0 },
  }
  const isSeen = target.kind !== 'url'
  return {
    api: isSeen ? { ...api, ...seen.api } : { ...seen.api },
    postgres: isSeen ? { connections: 20, connections_max: 200, ...seen.postgres } : {},
    generator: { cpu_core_ratio: generator_cores, run_delay_ratio: 0, cores: '1', ...lateness },
    kernel: { listen_overflows: 0, listen_drops: 0, retransmits: 0, segments_sent: 1000, cores, ...seen.kernel },
    ...(seen.target && { target: seen.target }),
  }
}
