import { openDatabase } from '../sql/database.js'
import { DRIVERS } from './drivers/index.js'
import { UsageError } from './flags.js'
import { describeMachine, planCores, redlineCommit } from './machine.js'
import { pinSelf } from './processes.js'
import { renderReport } from './report/report.js'
import { openLocal, openUrl } from './targets/index.js'
import { runTrial } from './trial.js'

/**
 * Runs trials until `next` wants no more, and writes them down as they end. Every verb is this with a `next` of its own.
 *
 * @param {object} experiment
 * @param {any} experiment.run run.json so far: run_id, verb, argv, started_at, plan as it may be kept
 * @param {Plan} experiment.plan
 * @param {import('./results.js').Results} experiment.results
 * @param {(trials: import('./trial.js').TrialRecord[]) => Step | null} experiment.next pure: the next trial, or the end
 * @param {(trials: import('./trial.js').TrialRecord[]) => { capacity: object | null, limit: object | null, problem: string | null }} experiment.answer
 *   problem: why there is no trustworthy answer
 * @param {Io} io
 * @returns {Promise<{ run: any, records: import('./trial.js').TrialRecord[] }>} also when it was interrupted
 *   (run.interrupted) or broke off (run.problem); what was measured is in the folder either way
 */
export async function runExperiment({ run, plan, results, next, answer }, { signal, progress, environment }) {
  const records = results.readTrials()
  const state = {
    ...run,
    interrupted: false,
    finished_at: null,
    capacity: null,
    limit: null,
    problem: null,
    warnings: [],
  }
  const write = () => {
    results.writeRun(state)
    results.writeReport(renderReport(state, records))
  }
  const bench = await openBench(plan, results, environment, progress).catch((error) => {
    results.releaseUnused()
    throw error
  })
  try {
    signal.throwIfAborted()
    Object.assign(state, await describeRun(plan, bench))
    refuseOtherConditions(run, state, records, bench.target)
    write()
    for (let step = next(records); step; step = next(records)) {
      signal.throwIfAborted()
      const trial = (records.at(-1)?.trial ?? 0) + 1
      const trialPlan = { trial, mix: plan.mix, timeout_s: plan.timeout_s, ...step.load }
      progress.trialStarted(trialPlan, step.left_s)
      const setup = { ...bench, slo: plan.slo, runId: state.run_id, experiment: step.experiment }
      const record = await runTrial(setup, trialPlan, signal, progress.tick)
      results.appendTrial(record)
      records.push(record)
      progress.trialEnded(record)
    }
    Object.assign(state, answer(records))
  } catch (error) {
    if (error instanceof UsageError) throw error
    Object.assign(state, answer(records), { problem: null, interrupted: signal.aborted })
    if (!signal.aborted) state.problem = `the run broke off: ${/** @type {Error} */ (error).message}`
  } finally {
    progress.stop()
    await bench.close()
  }
  state.finished_at = new Date().toISOString()
  write()
  return { run: state, records }
}

/**
 * @typedef {object} Io
 * @property {AbortSignal} signal stops load within a second; what was measured stays
 * @property {import('./report/progress.js').Progress} progress
 * @property {ReturnType<typeof import('./environment.js').readEnvironment>} environment
 *
 * @typedef {object} Plan what a run is about; plain data, kept in run.json so that --resume can tell whether it is the same
 * @property {string | null} url null: the local API
 * @property {string} driver
 * @property {number[] | null} rates_rps null: found by a closed-loop plateau
 * @property {number[]} connections
 * @property {import('./mix.js').MixPlan} mix
 * @property {import('./judge.js').Slo} slo
 * @property {number} warmup_s
 * @property {number} duration_s
 * @property {number} timeout_s
 *
 * @typedef {object} Step
 * @property {string} experiment
 * @property {number} left_s expected time of this trial and those that will follow
 * @property {{ driver: string, loop: 'open' | 'closed', rate_rps: number | null, connections: number, warmup_s: number, duration_s: number }} load
 */

/**
 * Database and target, on their cores.
 *
 * @param {Plan} plan
 * @param {import('./results.js').Results} results
 * @param {ReturnType<typeof import('./environment.js').readEnvironment>} environment
 * @param {import('./report/progress.js').Progress} progress
 */
async function openBench(plan, results, environment, progress) {
  if (plan.url) return { target: openUrl(plan.url), database: null, cores: null, close: async () => {} }
  const cores = planCores()
  const pinned = cores !== null && pinSelf(cores.others)
  if (!environment.databaseUrl) progress.note('starting Postgres …')
  const database = await openDatabase(environment.databaseUrl)
  try {
    const target = await openLocal({
      databaseUrl: database.url,
      cores: pinned ? cores.api : null,
      env: environment.forApi,
      logFile: results.file('api.log'),
    })
    const close = async () => {
      await target.stop()
      await database.close()
    }
    return { target, database, cores: pinned ? cores : null, close }
  } catch (error) {
    await database.close()
    throw error
  }
}

/**
 * A run that goes on has to go on under the same conditions: trials of two machines or settings make no ladder.
 *
 * @param {any} before run.json as it was
 * @param {any} now
 * @param {import('./trial.js').TrialRecord[]} records
 * @param {import('./targets/index.js').Target} target
 */
function refuseOtherConditions(before, now, records, target) {
  if (records.length === 0) return
  const was = { ...before.machine, ...records[0].settings }
  const is = { ...now.machine, ...target.settings }
  const changed = Object.keys({ ...was, ...is }).find((name) => !/PORT$/.test(name) && was[name] !== is[name])
  if (!changed) return
  throw new UsageError(`--resume: expected ${changed}=${was[changed]}, as the run began, got ${changed}=${is[changed]}`)
}

/** @param {Plan} plan @param {Awaited<ReturnType<typeof openBench>>} bench */
async function describeRun(plan, { database, target, cores }) {
  const driver = DRIVERS[plan.driver]
  const warnings = [...(database?.warnings ?? [])]
  if (!plan.url && !cores)
    warnings.push('this system cannot pin processes: the API shared its core with everything else')
  return {
    machine: describeMachine(),
    versions: {
      node: process.version,
      postgres: database?.version ?? null,
      redline_commit: await redlineCommit(),
      driver: `${driver.name} (${await driver.version()})`,
    },
    slo: plan.slo,
    pinning: pinningText(plan, database, target, cores),
    warnings,
  }
}

/**
 * @param {Plan} plan
 * @param {import('../sql/database.js').Database | null} database
 * @param {import('./targets/index.js').Target} target
 * @param {{ api: string, others: string } | null} cores
 */
function pinningText(plan, database, target, cores) {
  if (plan.url) return 'Nothing was pinned: the service ran already.'
  if (!cores) return 'Nothing was pinned: this system has one core, or no taskset.'
  const others = database?.kind === 'embedded' ? 'Postgres, the generator and the lab' : 'the generator and the lab'
  const elsewhere = database?.kind === 'embedded' ? '' : '; Postgres ran already, wherever it is'
  return `The API ran on core ${target.cores} alone, ${others} on core ${cores.others}${elsewhere}.`
}
