import { startGenerator } from './drive.js'
import { judge } from './judge.js'
import { watchProcess } from './probes/process.js'

/**
 * One trial: empty the table, warm up, drive, count the stored rows, judge. Gives exactly one record.
 *
 * @param {object} setup
 * @param {import('./targets/index.js').Target} setup.target
 * @param {import('../sql/database.js').Database | null} setup.database null when the target's rows are not ours to count
 * @param {import('./judge.js').Slo} setup.slo
 * @param {string} setup.runId
 * @param {string} setup.experiment
 * @param {string | null} setup.cell
 * @param {TrialPlan} plan
 * @param {AbortSignal} signal
 * @param {(counts: any) => void} onCounts while the load is on
 * @returns {Promise<TrialRecord>}
 */
export async function runTrial({ target, database, slo, runId, experiment, cell }, plan, signal, onCounts) {
  const started_at = new Date().toISOString()
  const load = { ...plan, url: target.url, connections: plan.connections }
  await database?.reset()
  const generator = await startGenerator(load, signal, onCounts)
  try {
    const warmup = plan.warmup_s > 0 ? await orDied(target, generator.run(plan.warmup_s)) : { sent: 0, completed: 0 }
    const rowsBefore = await database?.countRows()
    const apiUse = watchProcess(target.pid)
    const generatorUse = watchProcess(generator.pid)
    // Read when the last answer has come: what the generator computes afterwards is no part of the load.
    const uses = { api: apiUse(), generator: generatorUse() }
    const onEnd = () => Object.assign(uses, { api: apiUse(), generator: generatorUse() })
    const { lateness_ms, planned, ...traffic } = await orDied(target, generator.run(plan.duration_s, onEnd))
    const probes = {
      api: perRequest(uses.api, traffic.completed),
      postgres: {},
      generator: { ...perRequest(uses.generator, traffic.sent), lateness_ms },
      kernel: {},
    }
    const rows_stored = database ? (await database.countRows()) - Number(rowsBefore) : null
    const warmup_unanswered = warmup.sent - warmup.completed
    const counts = { planned, ok: countOk(traffic.status), rows_stored, warmup_unanswered }
    const measured = { traffic: { ...counts, ...traffic }, probes }
    return {
      run_id: runId,
      trial: plan.trial,
      started_at,
      experiment,
      cell,
      settings: target.settings,
      target: { kind: target.kind, url: target.url, pid: target.pid, cores: target.cores },
      load: describeLoad(plan),
      ...measured,
      outcome: judge(measured, slo),
      limit: null,
    }
  } finally {
    await generator.close()
  }
}

/**
 * @typedef {object} TrialPlan
 * @property {number} trial number within the run, from 1
 * @property {string} driver
 * @property {'open' | 'closed'} loop
 * @property {number | null} rate_rps
 * @property {number} connections
 * @property {import('./mix.js').MixPlan} mix
 * @property {number} warmup_s
 * @property {number} duration_s
 * @property {number} timeout_s
 *
 * @typedef {Omit<import('./drivers/recorder.js').Traffic, 'lateness_ms'> & { ok: number, rows_stored: number | null, warmup_unanswered: number }} TrialTraffic
 * @typedef {Partial<import('./probes/process.js').ProcessUse> & { cpu_us_per_request?: number }} Use
 *
 * @typedef {object} TrialRecord one line of trials.ndjson
 * @property {string} run_id
 * @property {number} trial
 * @property {string} started_at
 * @property {string} experiment
 * @property {string | null} cell
 * @property {Record<string, string | number | null>} settings
 * @property {{ kind: string, url: string, pid: number | null, cores: string | null }} target
 * @property {ReturnType<typeof describeLoad>} load
 * @property {TrialTraffic} traffic
 * @property {{ api: Use, postgres: {}, generator: Use & { lateness_ms: import('./drivers/recorder.js').Distribution | null }, kernel: {} }} probes
 * @property {{ verdict: 'pass' | 'fail' | 'invalid', because: string }} outcome
 * @property {null} limit
 */

/** @param {TrialPlan} plan */
function describeLoad({ driver, loop, rate_rps, connections, mix, warmup_s, duration_s, timeout_s }) {
  return { driver, loop, rate_rps, connections, mix: mix.name, seed: mix.seed, warmup_s, duration_s, timeout_s }
}

/** @template T @param {import('./targets/index.js').Target} target @param {Promise<T>} work */
function orDied(target, work) {
  return Promise.race([work, target.died])
}

/** @param {import('./probes/process.js').ProcessUse | null} use @param {number} requests @returns {Use} */
function perRequest(use, requests) {
  if (!use) return {}
  const { cpu_s, cpu_core_ratio, rss_bytes, open_files } = use
  const whole = { cpu_s: round(cpu_s), cpu_core_ratio: round(cpu_core_ratio), rss_bytes, open_files }
  return requests > 0 ? { ...whole, cpu_us_per_request: round((cpu_s * 1e6) / requests) } : whole
}

/** @param {Record<string, number>} status */
function countOk(status) {
  return Object.entries(status).reduce((sum, [code, count]) => (code[0] === '2' ? sum + count : sum), 0)
}

/** @param {number} value */
function round(value) {
  return Number(value.toFixed(3))
}
