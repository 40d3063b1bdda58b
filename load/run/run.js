import { setTimeout as pause } from 'node:timers/promises'
import { withDatabase } from '../command/environment.js'
import { NotApplied, ServiceEnded } from '../command/errors.js'
import { UsageError } from '../command/flags.js'
import { openOrigin } from '../generators/hosts/prepare.js'
import { writePages } from '../report/write.js'
import { openApi, openUrl } from '../targets/index.js'
import { SWEEP_REPORT } from '../verbs/sweep/sweep-report.js'
import { relaxed } from '../verdict/relax.js'
import { spoilers } from '../verdict/spoilers.js'
import { describeRun, openBench, pinningText } from './bench.js'
import { runTrial } from './trial.js'

/**
 * @import { Environment } from '../command/environment.js'
 * @import { MixPlan } from '../generators/mix.js'
 * @import { Report } from '../report/write.js'
 * @import { SshPlan } from '../system/ssh/plan.js'
 * @import { Target } from '../targets/index.js'
 * @import { Slo } from '../verdict/judge.js'
 * @import { Progress } from './progress.js'
 * @import { Results } from './results.js'
 * @import { TrialRecord } from './trial.js'
 */

/**
 * What a run is done with, for real. A simulation stands in for any of it.
 *
 * @typedef {typeof LAB} Lab
 */
const LAB = {
  openOrigin,
  openBench,
  describeRun,
  spoilers,
  openTarget: (/** @type {Open} */ open, /** @type {string | null} */ cell, /** @type {Place} */ place) =>
    open(cell, place),
  runTrial,
  writePages,
  now: () => new Date(),
  pause: (/** @type {number} */ ms, /** @type {AbortSignal} */ signal) =>
    pause(ms, /** @type {void} */ (undefined), { signal }),
}

/**
 * Runs trials until `next` wants no more, and writes them down as they end. Every verb is this with a `next` of its own.
 *
 * @param {object} experiment
 * @param {any} experiment.run run.json so far: run_id, verb, argv, started_at, plan as it may be kept
 * @param {Plan} experiment.plan
 * @param {Results} experiment.results
 * @param {string} [experiment.databaseUrl] of the command line, or "embedded"; it wins over the environment
 * @param {(trials: TrialRecord[], notApplied: NotAppliedCell[]) => Step | null} experiment.next pure:
 *   the next trial, or the end
 * @param {(trials: TrialRecord[], notApplied: NotAppliedCell[]) => { capacity: object | null, limit: object | null, problem: string | null }} experiment.answer
 *   problem: why there is no trustworthy answer
 * @param {Open} [experiment.open] the target
 *   of a cell, the local API or the plan's URL unless told otherwise; it stays open while the steps ask for the same cell
 * @param {string} [experiment.pinning] which core has what, where it is not the local API that has one
 * @param {Report} [experiment.report] how the results are shown
 * @param {Io} io
 * @returns {Promise<{ run: any, records: TrialRecord[] }>} also when it was interrupted
 *   (run.interrupted) or broke off (run.problem); what was measured is in the folder either way
 */
export async function runExperiment(experiment, { signal, progress, environment, lab: given }) {
  const lab = { ...LAB, ...given }
  const { run, plan, results, databaseUrl, next, answer, open = openPlanned(plan), report = SWEEP_REPORT } = experiment
  const records = results.readTrials()
  const before = records.length
  const state = {
    ...run,
    interrupted: false,
    finished_at: null,
    capacity: null,
    limit: null,
    problem: null,
    warnings: [],
    not_applied: [],
  }
  const released = (/** @type {Error} */ error) => {
    results.releaseUnused()
    throw error
  }
  const origin = await lab.openOrigin(plan, { signal, progress }).catch(released)
  const opening = { signal, progress, environment: withDatabase(environment, databaseUrl), runId: run.run_id }
  const bench = await lab.openBench(plan, results, opening).catch(released)
  let opened = /** @type {Opened | null} */ (null)
  let noisy = 0
  try {
    Object.assign(state, await lab.describeRun(plan, bench), { load_hosts: origin.hosts })
    for (const text of bench.database?.warnings ?? []) progress.note(`warning: ${text}`)
    // A resumed run keeps the warnings found when it began.
    state.warnings = [...new Set([...(run.warnings ?? []), ...state.warnings])]
    for (let step = next(records, state.not_applied); step; step = next(records, state.not_applied)) {
      signal.throwIfAborted()
      if (opened?.cell !== step.cell) {
        await opened?.target.stop()
        opened = null
        const target = await lab.openTarget(open, step.cell, bench.place).catch((error) => {
          if (!(error instanceof NotApplied) || signal.aborted) throw error
          state.not_applied.push({ cell: step.cell, because: error.message })
        })
        if (!target) continue
        opened = { cell: step.cell, target }
        refuseOtherConditions(run, state, records, opened)
        if (!state.pinning) {
          state.pinning = experiment.pinning ?? pinningText(plan, bench, target)
          state.warnings.push(...(await lab.spoilers(step, plan, { ...bench, origin }, target, { signal, progress })))
        }
        results.writeRun(state)
      }
      const trial = (records.at(-1)?.trial ?? 0) + 1
      const from = origin.of(step.load.driver)
      const trialPlan = { trial, mix: plan.mix, timeout_s: plan.timeout_s, ...from, ...step.load }
      progress.trialStarted(trialPlan, step.left_s, step.cell, step.about)
      const { target } = opened
      const setup = {
        target,
        database: target.countsRows ? bench.database : null,
        slo: plan.slo,
        runId: state.run_id,
        experiment: step.experiment,
        cell: step.cell,
      }
      const record = await lab.runTrial(setup, trialPlan, signal, progress.tick)
      results.appendTrial(record)
      records.push(record)
      progress.trialEnded(record)
      warnOfMetrics(state, record)
      noisy = record.outcome.blame === 'noise' ? noisy + 1 : 0
      if (noisy > 0) await waitOut(noisy, signal, progress, lab.pause)
    }
    Object.assign(state, answer(records, state.not_applied))
  } catch (error) {
    if (records.length === 0) results.releaseUnused()
    if (error instanceof UsageError && records.length === before) throw error
    // Nothing has been written yet, and there is nothing to write.
    if (!state.pinning) throw error
    Object.assign(state, answer(records, state.not_applied), { problem: null, interrupted: signal.aborted })
    if (!signal.aborted) state.problem = `the run broke off: ${/** @type {Error} */ (error).message}`
  } finally {
    progress.stop()
    await opened?.target.stop()
    await bench.close()
  }
  state.finished_at = lab.now().toISOString()
  results.writeRun(state)
  results.writeReport(report.markdown(state, records))
  // What was measured is not lost to a picture that cannot be drawn.
  await lab.writePages(results, report, state, records).catch((error) => {
    progress.note(`report.html could not be written: ${error.message}`)
  })
  return { run: state, records }
}

/**
 * @typedef {{ cell: string | null, because: string }} NotAppliedCell
 * @typedef {import('./bench.js').Place} Place
 * @typedef {(cell: string | null, place: Place) => Promise<Target>} Open
 * @typedef {{ cell: string | null, target: Target }} Opened
 *
 * @typedef {object} Io
 * @property {AbortSignal} signal stops load within a second; what was measured stays
 * @property {Progress} progress
 * @property {Environment} environment
 * @property {Partial<Lab>} [lab] what stands in for the real one
 *
 * @typedef {object} Plan what a run is about; plain data, kept in run.json so that --resume can tell whether it is the same
 * @property {string | null} url null: the API, which we start
 * @property {string} [shown_url] the same without its secrets; a kept plan has only this one, as its url
 * @property {SshPlan | null} [ssh] the host on which it is started; by default this one
 * @property {string | null} metrics_url of a service behind a URL
 * @property {string} driver
 * @property {number[] | null} rates_rps null: the capacity is searched for
 * @property {number[]} connections
 * @property {boolean} fresh_connections a connection for each request
 * @property {boolean} unbounded vegeta with its own defaults
 * @property {boolean} searches for the capacity, instead of the loads that were asked for
 * @property {number} [precision_ratio] half the width of the interval wanted, as a share of its middle
 * @property {boolean} confirms the limit that was found is relaxed, to see whether the capacity moves
 * @property {MixPlan} mix
 * @property {Slo} slo
 * @property {number} warmup_s
 * @property {number} duration_s
 * @property {number} timeout_s
 * @property {string[]} [load_hosts] where the load comes from, instead of this machine
 * @property {string | null} [ssh_config] on the way to them
 * @property {string[]} [local_addresses] of this machine that connections come from, in turn
 *
 * @typedef {object} Step
 * @property {string} experiment
 * @property {string | null} cell null where there is one target only
 * @property {number} left_s expected time of this trial and those that will follow
 * @property {string} [about] what it is for, for somebody who watches
 * @property {{ driver: string, loop: 'open' | 'closed', rate_rps: number | null, connections: number, warmup_s: number, duration_s: number, fresh_connections?: boolean, unbounded?: boolean, per_worker_rps?: number, nofile?: number | null, mix?: MixPlan }} load mix: the plan's, unless
 *   told otherwise
 */

/** Once: the page is the same for every trial. @param {{ warnings: string[] }} run @param {TrialRecord} record */
function warnOfMetrics({ warnings }, { probes }) {
  const problem = probes.api?.metrics_problem
  const text = `the service's metrics page could not be read, so its own figures are missing: ${problem}`
  if (problem && !warnings.includes(text)) warnings.push(text)
}

const CALM_S = 2

/**
 * Noise comes in spells: to repeat a trial at once would only measure the same one again.
 *
 * @param {number} noisy trials in a row
 * @param {AbortSignal} signal
 * @param {Progress} progress
 * @param {Lab['pause']} pause
 */
async function waitOut(noisy, signal, progress, pause) {
  const wait_s = CALM_S * 2 ** Math.min(noisy - 1, 2)
  progress.note(`the machine was noisy: waiting ${wait_s} s`)
  await pause(wait_s * 1000, signal)
}

/**
 * What the steps load where nothing else is said; a cell is a limit relaxed, which may be more than the host allows.
 *
 * @param {Pick<Plan, 'url' | 'metrics_url' | 'shown_url'>} plan
 */
export function openPlanned({ url, metrics_url, shown_url }) {
  return async (/** @type {string | null} */ cell, /** @type {Place} */ place) => {
    if (url) return openUrl(url, { metricsUrl: metrics_url, shownUrl: shown_url })
    return openApi(relaxed(place, cell)).catch((error) => {
      const isRefused = cell !== null && (error instanceof ServiceEnded || error instanceof UsageError)
      throw isRefused ? new NotApplied(error.message) : error
    })
  }
}

/**
 * A run that goes on has to go on under the same conditions: trials of two machines or settings make no ladder.
 *
 * @param {any} before run.json as it was; a run that has just begun has no machine in it
 * @param {any} now
 * @param {TrialRecord[]} records
 * @param {Opened} opened
 */
function refuseOtherConditions(before, now, records, { cell, target }) {
  const first = records.find((record) => record.cell === cell)
  if (!first) return
  const was = { ...machinesOf(before.machine ? before : now), ...first.settings }
  const is = { ...machinesOf(now), ...target.settings }
  const changed = Object.keys({ ...was, ...is }).find((name) => !/PORT$/.test(name) && was[name] !== is[name])
  if (!changed) return
  throw new UsageError(`--resume: expected ${changed}=${was[changed]}, as the run began, got ${changed}=${is[changed]}`)
}

/** @param {any} run */
function machinesOf({ machine, target_machine = {} }) {
  const there = Object.entries(target_machine).map(([name, value]) => [`target_${name}`, value])
  return { ...machine, ...Object.fromEntries(there) }
}
