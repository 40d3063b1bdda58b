import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from '../../sql/database.js'
import { NotApplied, OtherConditions, ServiceEnded, UsageError } from '../command/errors.js'
import { openOrigin } from '../generators/hosts/prepare.js'
import { watchOthers } from '../probes/others.js'
import { secondsCsv, trialsCsv } from '../report/csv.js'
import { isSameCell, processesText } from '../report/format.js'
import { junitOf } from '../report/junit.js'
import { writeReport } from '../report/write.js'
import { describeMachine, redlineCommit } from '../system/machine.js'
import { openApi, openStarted, openUrl } from '../targets/index.js'
import { relaxed } from '../verdict/relax.js'
import { spoilers } from '../verdict/spoilers.js'
import { framed } from './frame.js'
import { describeRun, openSite, pinningText } from './site.js'
import { runTrial } from './trial.js'

/**
 * @import { Block } from '../report/blocks.js'
 * @import { Ask } from '../command/ask.js'
 * @import { Environment } from '../command/environment.js'
 * @import { Target } from '../targets/index.js'
 * @import { Place } from './site.js'
 * @import { Experiment, Verb } from './experiment.js'
 * @import { Progress } from './progress.js'
 * @import { Results } from './results.js'
 * @import { Cell, NotAppliedCell, Plan, Run, Step, TrialRecord } from '../report/record.js'
 */

/** The real lab. A simulation may replace any part of it. @typedef {typeof LAB} Lab */
const LAB = {
  openOrigin,
  openSite,
  describeRun,
  spoilers,
  openTarget: (/** @type {Open} */ open, /** @type {Parameters<Open>} */ ...asked) => open(...asked),
  runTrial,
  writeReport,
  now: () => new Date(),
  /** Returns the processes that used the CPU meanwhile. */
  pause: async (/** @type {number} */ ms, /** @type {AbortSignal} */ signal) => {
    const others = watchOthers()
    await pause(ms, undefined, { signal })
    return others()
  },
}

/** @typedef {(cell: any, place: Place, plan: any) => Promise<Target>} Open */

/** With what the problem of a run begins that could not go on. */
export const BROKE_OFF = 'the run broke off'

const NOTHING_YET = { interrupted: false, finished_at: null, problem: null }

/**
 * Measures until the design is done, keeps each trial as it ends, and then writes the report, even if the run was interrupted
 * (run.interrupted) or failed (run.problem).
 * @param {Begun} begun @param {Io} io
 * @returns {Promise<{ run: any, measured: number, blocks: Block[] }>} measured: number of trials, or of rows of a verb without trials
 * @typedef {{ experiment: Verb, run: any, plan: any, results: Results }} Begun run: run.json so far: run_id, verb, argv,
 *   started_at, plan without secrets; plan: with its secrets resolved
 * @typedef {{ signal: AbortSignal, progress: Progress, environment: Environment, ask: Ask, lab?: Partial<Lab> }} Io signal: stops
 *   the load within a second, but keeps the measurements; lab: replaces parts of the real one
 */
export async function runExperiment({ experiment, run, plan, results }, io) {
  const lab = { ...LAB, ...io.lab }
  const hasTrials = 'design' in experiment
  const measured = hasTrials ? results.readTrials() : []
  const before = measured.length
  const state = { ...run, ...NOTHING_YET }
  try {
    if (hasTrials) await runTrials({ experiment, run, plan, results }, state, measured, io, lab)
    else await takeRows(experiment.measure(plan, io), state, measured, results)
  } catch (error) {
    if (measured.length === 0) results.releaseUnused()
    // Before the first target is open, nothing is written, so there is nothing to report.
    const isRefusal = error instanceof UsageError && measured.length === before
    const hasBegun = hasTrials ? state.pinning : measured.length > 0
    if (isRefusal || !hasBegun) throw error
    state.interrupted = io.signal.aborted
    if (!io.signal.aborted) state.problem = `${BROKE_OFF}: ${/** @type {Error} */ (error).message}`
  }
  const findings = experiment.analyse(plan, measured, state)
  // A run that was resumed only to be reanalysed keeps the time at which it finished.
  const wasOver = hasTrials && measured.length === before && run.finished_at
  Object.assign(state, findings.kept, { finished_at: wasOver ? run.finished_at : lab.now().toISOString() })
  if (!state.interrupted) state.problem ??= findings.problem
  // What it lacks is only measured later. Until then, `none` goes with a problem, like anywhere else.
  else if (state.answer === 'none') state.problem = 'the run was interrupted'
  if (state.problem && state.answer) state.answer = 'none'
  results.writeRun(state)
  const files = experiment.files?.(findings, state) ?? {}
  for (const [name, text] of Object.entries(files)) results.writeText(name, text)
  const blocks = framed(experiment, findings, state, hasTrials ? measured : null)
  if (hasTrials) {
    results.writeText('trials.csv', trialsCsv(measured))
    results.writeText('seconds.csv', secondsCsv(measured))
  }
  const texts = blocks.flatMap((block) => (block.kind === 'answer' ? block.text : []))
  results.writeText('junit.xml', junitOf(state, hasTrials ? measured : [], texts.join(' ')))
  // A picture that cannot be drawn must not cost us the measurements.
  await lab.writeReport(results, titleOf(state), blocks).catch((error) => {
    io.progress.note(`report.html could not be written: ${error.message}`)
  })
  return { run: state, measured: measured.length, blocks }
}

/** @param {AsyncIterable<any>} measuring @param {any} state run.json, kept up to date @param {any[]} rows receives each new one @param {Results} results */
async function takeRows(measuring, state, rows, results) {
  const versions = { node: process.version, redline_commit: await redlineCommit() }
  Object.assign(state, { machine: describeMachine(), versions, rows })
  for await (const row of measuring) {
    rows.push(row)
    results.writeRun(state)
  }
}

/**
 * @param {Begun & { experiment: Experiment }} begun @param {any} state run.json, kept up to date
 * @param {TrialRecord[]} records the existing ones; receives each new one @param {Io} io @param {Lab} lab
 */
async function runTrials({ experiment, run, plan, results }, state, records, io, lab) {
  const { signal, progress } = io
  const { design, open = openPlanned } = experiment
  // A complete run is only reanalysed, and keeps the machine and the versions that measured it.
  if (run.machine && design(plan, records, run.not_applied ?? []) === null) {
    state.warnings = [...new Set(run.warnings ?? [])]
    return
  }
  Object.assign(state, { capacity: null, limit: null, warnings: run.warnings ?? [], not_applied: [] })
  const origin = await lab.openOrigin(plan, io)
  const site = await lab.openSite(plan, results, { ...io, runId: run.run_id }).catch((error) => {
    // A run that cannot be resumed because its database is unavailable stays unchanged.
    throw error instanceof DatabaseError && records.length > 0 ? new UsageError(error.message) : error
  })
  let opened = /** @type {{ cell: any, target: Target, trials: number } | null} */ (null)
  let noisy = 0
  try {
    Object.assign(state, await lab.describeRun(plan, site), { load_hosts: origin.hosts })
    if (records.length > 0 && run.machine) {
      refuseOtherPlace(run, state)
      state.warnings.push(...otherVersions(run, state, records.length))
    }
    for (const text of site.database?.warnings ?? []) progress.note(`warning: ${text}`)
    // A resumed run keeps the warnings found when it began.
    state.warnings = [...new Set([...(run.warnings ?? []), ...state.warnings])]
    for (let step = design(plan, records, state.not_applied); step; step = design(plan, records, state.not_applied)) {
      signal.throwIfAborted()
      const { at, cell, load } = step
      if (!opened || (step.restart && opened.trials > 0) || !isSameCell(opened.cell, cell)) {
        await opened?.target.stop()
        opened = null
        const target = await lab.openTarget(open, cell, site.place, plan).catch((error) => {
          if (!(error instanceof NotApplied) || signal.aborted) throw error
          // A design that asks for it again would do so for ever.
          if (state.not_applied.some((/** @type {NotAppliedCell} */ one) => isSameCell(one.cell, cell))) throw error
          state.not_applied.push({ cell, because: error.message })
        })
        if (!target) continue
        opened = { cell, target, trials: 0 }
        const first = records.find((record) => isSameCell(record.cell, cell))
        if (first) refuseOthers(first.settings, target.settings)
        if (!state.pinning) {
          state.warnings.push(...(await lab.spoilers(step, plan, { ...site, origin }, target, io)))
          // From here on, there is something to report.
          state.pinning = experiment.pinning?.(plan) ?? pinningText(plan, site, target)
        }
        results.writeRun(state)
      }
      const { target } = opened
      const trial = (records.at(-1)?.trial ?? 0) + 1
      const { resumptions } = state
      const trialPlan = {
        trial,
        resumptions,
        mix: plan.mix,
        timeout_s: plan.timeout_s,
        ...origin.of(load.driver),
        ...load,
        warmup_s: opened.trials > 0 ? load.warmup_s : coldWarmup_s(target, step, records),
      }
      progress.trialStarted(trialPlan, step.left_s, cell, step.about)
      const database = target.countsRows ? site.database : null
      const about = { look: site.look, slo: plan.slo, runId: state.run_id, experiment: experiment.name, at, cell }
      const record = await lab.runTrial({ target, database, ...about }, trialPlan, signal, progress.tick)
      results.appendTrial(record)
      records.push(record)
      opened.trials++
      progress.trialEnded(record)
      warnOfUnread(state, record)
      noisy = record.outcome.blame === 'noise' ? noisy + 1 : 0
      if (noisy === 0) continue
      // Noise comes in bursts: a trial repeated at once would only measure the same burst.
      const wait_s = CALM_S * 2 ** Math.min(noisy - 1, 2)
      progress.note(`the machine was noisy: waiting ${wait_s} s`)
      const others = await lab.pause(wait_s * 1000, signal)
      if (others.length > 0) progress.note(`busiest meanwhile: ${processesText(others)} of a core`)
    }
  } finally {
    progress.stop()
    await opened?.target.stop()
    await experiment.close?.(site.place, plan)
    await site.close()
  }
}

const CALM_S = 2

/**
 * The warm-up of a target that has just been opened (s). If an interruption cut the trials of a cell that share a start, the target of
 * the first one had the longest warm-up; what starts instead needs as much. A service that runs already is as warm as before.
 * @param {Target} target @param {Step} step @param {TrialRecord[]} records
 */
function coldWarmup_s({ kind }, { cell, load, restart, cold_warmup_s = 0 }, records) {
  const last = records.at(-1)
  const isCut = kind !== 'url' && last && !restart && isSameCell(last.cell, cell)
  const alike = isCut ? records.filter((record) => isSameCell(record.cell, cell)) : []
  return Math.max(load.warmup_s, cold_warmup_s, ...alike.map((record) => record.load.warmup_s))
}

/** The title of a run's report. @param {Pick<Run, 'verb' | 'run_id'>} run */
export function titleOf({ verb, run_id }) {
  return `Redline ${verb}: ${run_id}`
}

/** @param {string} what in the middle of a load @param {string} problem */
function failedText(what, problem) {
  return `the ${what} in some trials failed, so its effect is missing there: ${problem}`
}

/** Warns once of what could not be read or done. @param {{ warnings: string[] }} run @param {TrialRecord} record */
function warnOfUnread({ warnings }, { probes }) {
  const { postgres_problem: look, checkpoint_problem, vacuum_problem } = probes.postgres ?? {}
  const page = probes.api?.metrics_problem
  const texts = [
    ...(page ? [`the service's metrics page could not be read, so its own figures are missing: ${page}`] : []),
    ...(checkpoint_problem ? [failedText('CHECKPOINT', checkpoint_problem)] : []),
    ...(vacuum_problem ? [failedText('VACUUM', vacuum_problem)] : []),
    ...(look ? [`--postgres-url could not be read in some trials, so its figures are missing there: ${look}`] : []),
  ]
  warnings.push(...texts.filter((text) => !warnings.includes(text)))
}

/**
 * Opens the default target: the plan's URL or the local API. A cell relaxes a limit, possibly beyond what the host allows.
 * @param {Cell | null} cell @param {Place} place @param {Pick<Plan, 'url' | 'metrics_url' | 'shown_url' | 'start' | 'pids'>} plan
 */
export async function openPlanned(cell, place, plan) {
  const { url, metrics_url: metricsUrl, shown_url: shownUrl, start, pids: processes } = plan
  if (url && start) return openStarted({ start, url, metricsUrl, shownUrl, ...place })
  if (url) return openUrl(url, { metricsUrl, shownUrl, processes })
  return openApi(relaxed(place, cell)).catch((error) => {
    const isRefused = cell !== null && (error instanceof ServiceEnded || error instanceof UsageError)
    throw isRefused ? new NotApplied(error.message) : error
  })
}

/** Refuses incomparable machines and databases. @param {any} before run.json as it was @param {any} now @throws {OtherConditions} */
function refuseOtherPlace(before, now) {
  refuseOthers(machinesOf(before), machinesOf(now))
  const [was, is] = [before, now].map(
    ({ database }) => database && `${database.kind}, Postgres ${String(database.version).split('.')[0]}`,
  )
  if (!was || was === is) return
  const how = before.database.kind === 'embedded' ? '--database-url embedded' : '--database-url with its URL'
  const advice = before.database.kind === now.database?.kind ? 'begin a new run' : `give ${how}`
  throw new OtherConditions(`expected the database of the run (${was}), got ${is}: ${advice}`)
}

/** Says which versions measure the rest of a resumed run. @param {Pick<Run, 'versions'>} before @param {Pick<Run, 'versions'>} now @param {number} measured trials */
function otherVersions({ versions: before }, { versions: now }, measured) {
  const changed = ['redline_commit', 'node', 'driver'].flatMap((name) => {
    const [was, is] = [before, now].map((versions) => versions?.[name])
    return was && is && was !== is ? `${is} instead of ${was}` : []
  })
  if (changed.length === 0) return []
  return [`trials from ${measured + 1} on were measured by other versions than those before: ${changed.join(', ')}`]
}

/** Refuses incomparable conditions. @param {Record<string, unknown>} was @param {Record<string, unknown>} is @throws {OtherConditions} */
function refuseOthers(was, is) {
  const names = Object.keys({ ...was, ...is }).filter((name) => !/PORT$|ROUND_TRIP/.test(name))
  const changed = names.find((name) => was[name] !== is[name])
  if (!changed) return
  throw new OtherConditions(`expected ${changed}=${was[changed]}, as when the run began, got ${changed}=${is[changed]}`)
}

/** @param {any} run */
function machinesOf({ machine, target_machine = {}, target_machines = {} }) {
  const sides = Object.entries(target_machines).map(([side, own]) => [`target_${side}`, own])
  const there = [['target', target_machine], ...sides].flatMap(([where, own]) => {
    return Object.entries(own).map(([name, value]) => [`${where}_${name}`, value])
  })
  return { ...machine, ...Object.fromEntries(there) }
}
