import fs from 'node:fs'
import { isSettled, isValid } from '../../load/capacity/ladder.js'
import { runOld } from '../../load/run/old.js'
import { localPlan } from '../../load/run/plan.js'
import { beginRun, Results, resumeRun } from '../../load/run/results.js'
import { coresOf } from '../../load/system/machine.js'
import { pinSelf } from '../../load/system/processes.js'
import { loadOf } from '../knobs/open-cell.js'
import { nameOf } from '../stats/design.js'
import { knobsOf, openExercise } from './cells.js'
import { EXERCISE_REPORT } from './report.js'

/**
 * @import { NotAppliedCell, Step } from '../../load/run/experiment.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { TrialRecord } from '../../load/run/trial.js'
 * @import { Exercise, Facts, Measurement } from './exercise.js'
 */

const SLO = { p99_ms: 100, success_ratio: 1 }
const TIMEOUT_S = 10
const START_S = 1

/** Where all share their cores, a service that has just begun needs longer until it is as fast as it will be. */
const SHARED_WARMUP_S = 6

/** @typedef {TrialRecord} Trial */

/**
 * Takes the measurements of a stage that its folder does not have yet. A run that was cut off goes on.
 *
 * @param {object} stage
 * @param {Exercise} stage.exercise
 * @param {Measurement[]} stage.measurements
 * @param {number} stage.round of the tries to solve it; 0: before the first
 * @param {string} stage.folder
 * @param {Facts} stage.facts
 * @param {number} stage.seed
 * @param {Io} stage.io
 * @returns {Promise<{ problem: string | null, warnings: string[] }>} problem: what could not be measured, and why
 * @throws the signal's reason, when it was interrupted; what was measured stays
 */
export async function measure({ exercise, measurements: asked, round, folder, facts, seed, io }) {
  const measurements = facts.pinned ? asked : asked.map(warmedUp)
  const base = localPlan({ seed, duration_s: 3, timeout_s: TIMEOUT_S })
  const plan = { ...base, slo: SLO, warmup_s: 1, exercise: exercise.id, facts }
  const { results, run } = isBegun(folder)
    ? resumeRun('workshop', folder)
    : beginRun('workshop', { argv: ['--exercise', exercise.id], out: folder, plan })
  const allowed = coresOf('self')
  const ended = await runOld(
    {
      run,
      plan: run.plan,
      results,
      next: (records, notApplied) => nextStep(measurements, round, records, notApplied),
      answer: (records, notApplied) => ({
        capacity: null,
        limit: null,
        problem: problemOf(measurements, round, records, notApplied),
      }),
      open: openExercise,
      report: EXERCISE_REPORT,
    },
    io,
  ).finally(() => {
    // The run left the service's core to the service; the next one has to find it.
    if (allowed) pinSelf(allowed)
  })
  if (ended.run.interrupted) throw io.signal.reason
  return { problem: ended.run.problem, warnings: ended.run.warnings }
}

/** @param {Measurement} measurement @returns {Measurement} */
function warmedUp({ load, ...measurement }) {
  return { ...measurement, load: { ...load, warmup_s: Math.max(load.warmup_s, SHARED_WARMUP_S) } }
}

/**
 * Whether a trial answers what its measurement asks. Rows that are not those that were acknowledged never do.
 *
 * @param {Measurement} measurement
 * @param {Trial} trial
 */
export function countsFor({ countsAlways }, { outcome }) {
  return isValid({ outcome }) || (countsAlways && (outcome.blame === 'noise' || outcome.blame === 'generator'))
}

/** Of one that was killed before its first trial, only its place is left. @param {string} folder */
function isBegun(folder) {
  const results = new Results(folder)
  const exists = () => fs.existsSync(results.file('run.json'))
  if (exists()) results.releaseUnused()
  return exists()
}

/**
 * Pure.
 *
 * @param {Measurement[]} measurements
 * @param {number} round
 * @param {Trial[]} records
 * @param {NotAppliedCell[]} notApplied
 * @returns {Step | null}
 */
export function nextStep(measurements, round, records, notApplied) {
  const open = measurements.filter((measurement) => {
    const { name, levels } = measurement
    const own = records.filter(({ experiment }) => experiment === experimentOf(name, round))
    const isRefused = notApplied.some(({ cell }) => cell === nameOf(levels))
    return !isRefused && !isSettled(own, (trial) => countsFor(measurement, trial))
  })
  const [first] = open
  if (!first) return null
  const cell = nameOf(first.levels)
  const left_s = open.reduce((sum, { load }) => sum + START_S + load.warmup_s + load.duration_s, 0)
  const load = { ...first.load, ...loadOf(knobsOf(cell)) }
  return { experiment: experimentOf(first.name, round), cell, left_s, about: first.name, load }
}

/**
 * @param {Measurement[]} measurements
 * @param {number} round
 * @param {Trial[]} records
 * @param {NotAppliedCell[]} notApplied
 * @returns {string | null}
 */
function problemOf(measurements, round, records, notApplied) {
  for (const { name, levels } of measurements) {
    const refused = notApplied.find(({ cell }) => cell === nameOf(levels))
    if (refused) return refused.because
    if (!records.some(({ experiment }) => experiment === experimentOf(name, round))) return `"${name}" was not measured`
  }
  return null
}

/** @param {string} name @param {number} round */
function experimentOf(name, round) {
  return `${name}#${round}`
}
