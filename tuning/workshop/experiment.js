import { isSettled, isValid } from '../../load/capacity/ladder.js'
import { NotApplied } from '../../load/command/errors.js'
import { answer } from '../../load/report/blocks.js'
import { isSameCell } from '../../load/report/format.js'
import { localPlan } from '../../load/run/plan.js'
import { beginRun, Results, resumeRun } from '../../load/run/results.js'
import { runExperiment } from '../../load/run/runner.js'
import { coresOf, textOf } from '../../load/system/machine.js'
import { pinSelf } from '../../load/system/processes.js'
import { crowd } from '../experiments/faults/neighbours.js'
import { loadOf } from '../knobs/means.js'
import { openCell } from '../knobs/open-cell.js'
import { plantTrigger } from '../knobs/session.js'
import { evidenceOf } from './evidence.js'
import { EXERCISES } from './exercises/index.js'
import { AUDIT_LOCK_MS } from './kit.js'

/**
 * @import { Experiment } from '../../load/run/experiment.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { Place } from '../../load/run/site.js'
 * @import { Plant } from '../experiments/faults/index.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Facts, Measurement } from './exercise.js'
 * @import { Cell, NotAppliedCell, Step, TrialRecord } from '../../load/report/record.js'
 */

const SLO = { p99_ms: 100, success_ratio: 1 }
const START_S = 1

/** If all processes share their cores, a service takes longer to warm up. */
const SHARED_WARMUP_S = 6

/**
 * The measurements of an exercise: one run, which each stage continues with its own measurements.
 * @typedef {{ exercise: string, facts: Facts, measurements?: Measurement[], round?: number }} ExercisePlan exercise: its id;
 *   measurements, round: requests of a stage, which run.json does not keep; round: number of the try to solve it, 0 before the first
 * @type {Experiment}
 */
export const exerciseExperiment = {
  name: 'workshop',
  about: 'the measurements of an exercise',
  examples: '',
  flags: {},
  plan: planOf,
  design,
  open: (cell, place) => openExercise(cell ?? {}, place),
  analyse(plan, records, { not_applied }) {
    const { exercise, facts, measurements = [] } = /** @type {ExercisePlan} */ (plan)
    const [refusal] = measurements.flatMap((measurement) => refusalOf(measurement, not_applied) ?? [])
    const found = { facts, trials: trialsByName(records), answers: {} }
    return { problem: refusal?.because ?? null, exercise, found }
  },
  report({ exercise: id, found }) {
    const exercise = EXERCISES.find((one) => one.id === id)
    if (!exercise) throw new Error(`expected the id of an exercise, got ${id}`)
    return [answer(`What was measured for the exercise "${exercise.title}".`), ...evidenceOf(exercise, found)]
  },
}

/**
 * Takes the measurements that the folder of an exercise does not have yet; an interrupted run continues.
 * @param {Measurement[]} asked @param {number} round
 * @param {{ exercise: { id: string, number: number }, state: { facts: Facts }, folder: string, seed: number, io: Io }} desk
 * @returns {Promise<{ problem: string | null, warnings: string[] }>} problem: what could not be measured, and why
 * @throws the signal's reason if it was interrupted; finished measurements stay
 */
export async function measure(asked, round, { exercise: { id, number }, state: { facts }, folder, seed, io }) {
  // A run that was killed before its first trial left only a placeholder.
  if (Results.holdsRun(folder)) new Results(folder).releaseUnused()
  const argv = ['--exercise', String(number)]
  const begun = Results.holdsRun(folder)
    ? resumeRun(exerciseExperiment, folder)
    : beginRun('workshop', { argv, out: folder, plan: planOf({ exercise: id, facts, seed }) })
  const measurements = facts.pinned ? asked : asked.map(warmedUp)
  const plan = { ...begun.run.plan, measurements, round }
  const allowed = coresOf('self')
  const { run } = await runExperiment({ experiment: exerciseExperiment, ...begun, plan }, io).finally(() => {
    // The run moved this process off the service's core; the next run needs that core back to find both.
    if (allowed) pinSelf(allowed)
  })
  if (run.interrupted) throw io.signal.reason
  return run
}

/**
 * Opens the API with the settings and the surroundings of an exercise, each setting read back from the running process.
 * @param {Cell} cell @param {Place} place @returns {Promise<Target>} @throws {NotApplied}
 */
async function openExercise(cell, place) {
  const { UV_THREADPOOL_SIZE: threads, CORES } = cell
  const env = threads === undefined ? place.env : { ...place.env, UV_THREADPOOL_SIZE: String(threads) }
  const target = await openCell(knobsOf(cell), { ...place, cores: CORES === 'all' ? place.allCores : place.cores, env })
  // Only Linux shows the environment of a process.
  const shown = threads === undefined ? null : textOf(`/proc/${target.pid}/environ`)
  if (shown && !shown.split('\0').includes(`UV_THREADPOOL_SIZE=${threads}`)) {
    await target.stop()
    throw new NotApplied(`UV_THREADPOOL_SIZE: expected ${threads} in the environment of the process`)
  }
  const plant = plantOf(cell)
  if (!plant) return target
  const api = { pid: Number(target.pid), cores: place.cores }
  return {
    ...target,
    disturb: ({ pid }) => plant({ databaseUrl: place.databaseUrl, api, generator: { pid, cores: null } }),
  }
}

/** The disturbance around the service during a trial; null if none. @param {Cell} cell @returns {Plant | null} */
function plantOf({ NEIGHBOURS, NEIGHBOUR_NICE: nice, RECOUNTED_ROWS: rows, AUDIT_TRAIL: audited }) {
  if (rows !== undefined) return oneAtATime('redline_recount', `sum(i) FROM generate_series(1, ${Number(rows)}) AS i`)
  // Waits instead of computing.
  if (audited !== undefined) return oneAtATime('redline_audit', `pg_sleep(${AUDIT_LOCK_MS / 1000})`)
  return NEIGHBOURS === undefined ? null : crowd(Number(NEIGHBOURS), { nice: nice === undefined ? null : Number(nice) })
}

/** A trigger that works for each insert, one transaction at a time. @param {string} name @param {string} work @returns {Plant} */
function oneAtATime(name, work) {
  const alone = `PERFORM pg_advisory_xact_lock(hashtext('${name}')); PERFORM ${work};`
  return ({ databaseUrl }) => plantTrigger(databaseUrl, name, 'ROW', alone)
}

/** The knobs of a cell, which openCell and the generator apply. @param {Cell} cell @returns {Cell} */
function knobsOf({ UV_THREADPOOL_SIZE, CORES, NEIGHBOURS, NEIGHBOUR_NICE, RECOUNTED_ROWS, AUDIT_TRAIL, ...knobs }) {
  return knobs
}

/** The plan that run.json keeps. @param {Record<string, any>} given */
function planOf({ exercise, facts, seed }) {
  return { ...localPlan({ seed, duration_s: 3 }), slo: SLO, warmup_s: 1, exercise, facts }
}

/** @param {Measurement} measurement @returns {Measurement} */
function warmedUp({ load, ...measurement }) {
  return { ...measurement, load: { ...load, warmup_s: Math.max(load.warmup_s, SHARED_WARMUP_S) } }
}

/** @param {Pick<ExercisePlan, 'measurements' | 'round'>} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null} */
function design({ measurements = [], round = 0 }, records, notApplied) {
  const open = measurements.filter((measurement) => {
    const own = records.filter(({ at }) => at.measurement === measurement.name && at.round === round)
    return !refusalOf(measurement, notApplied) && !isSettled(own, (trial) => countsFor(measurement, trial))
  })
  if (open.length === 0) return null
  const [{ name, cell, load }] = open
  const left_s = open.reduce((sum, one) => sum + START_S + one.load.warmup_s + one.load.duration_s, 0)
  return { at: { measurement: name, round }, cell, left_s, about: name, load: { ...load, ...loadOf(knobsOf(cell)) } }
}

/** @param {Measurement} measurement @param {NotAppliedCell[]} notApplied */
function refusalOf(measurement, notApplied) {
  return notApplied.find(({ cell }) => isSameCell(cell, measurement.cell))
}

/** A trial whose stored rows are not those acknowledged never counts. @param {Measurement} measurement @param {TrialRecord} trial */
export function countsFor({ countsAlways }, { outcome }) {
  return isValid({ outcome }) || (countsAlways && (outcome.blame === 'noise' || outcome.blame === 'generator'))
}

/** The trial of each measurement: in its last round the first valid one, or else the last one. @param {TrialRecord[]} records */
export function trialsByName(records) {
  /** @type {Record<string, TrialRecord>} */
  const found = {}
  for (const trial of records) {
    const { measurement, round } = trial.at
    const known = found[measurement]
    if (!known || round > known.at.round || !isValid(known)) found[measurement] = trial
  }
  return found
}
