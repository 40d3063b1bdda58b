import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../load/command/errors.js'
import { makeFolder, refuseForeign } from '../../load/run/folder.js'
import { Results } from '../../load/run/results.js'

/** @import { Comparison, Exercise, Facts, Rules } from './exercise.js' */

export const PROGRESS_FILE = 'progress.json'
const FORMAT = 'redline-workshop-1'

/**
 * The state of a workshop, in a folder: progress.json, and a run in a folder of its own for each exercise.
 * @typedef {{ format: string, exercises: Record<string, State> }} Progress exercises: those that were begun, by id
 * @typedef {object} State of an exercise
 * @property {'before' | 'predict' | 'first' | 'limits' | 'turn' | 'expect' | 'again' | 'explain' | 'done'} stage
 * @property {number} round number of times that a knob was turned
 * @property {Facts} facts of the machine
 * @property {{ question: string, said: string, value: any, by: 'student' | 'solution', at: string, took_ms: number }[]} answers
 * @property {{ began_at: string, ended_at?: string }} [clock] of an incident: runs from the first evidence to the solution
 * @property {Record<string, Comparison>} comparisons by question
 * @property {ReturnType<Rules['outcome']>[]} outcomes
 */

/**
 * @param {string} folder @param {string[]} [ignored] ids of exercises whose state may be damaged
 * @returns {Progress} @throws {UsageError} if something else is kept there, or a state is damaged
 */
export function readProgress(folder, ignored = []) {
  const file = path.join(folder, PROGRESS_FILE)
  if (!fs.existsSync(file)) {
    refuseForeign(folder)
    return { format: FORMAT, exercises: {} }
  }
  const progress = parsed(file)
  if (progress?.format !== FORMAT || !isObject(progress.exercises)) {
    throw new UsageError(`--out: expected the folder of a workshop, got ${file} of another format`)
  }
  const states = Object.entries(progress.exercises)
  const [id] = states.find(([id, state]) => !ignored.includes(id) && !isState(state)) ?? []
  if (id === undefined) return progress
  throw new UsageError(
    `${file}: expected the state of an exercise, got a damaged one of "${id}"; --reset --exercise N forgets that exercise, --reset alone all of them`,
  )
}

/** @param {string} file */
function parsed(file) {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8'))
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    throw new UsageError(
      `${file}: expected JSON, got ${message}; --reset cannot read it either. Remove ${path.dirname(file)} to start the workshop again`,
    )
  }
}

/** Writes in one step: after a crash the file has the last state or the one before. @param {string} folder @param {Progress} progress */
export function writeProgress(folder, progress) {
  makeFolder(folder)
  new Results(folder).writeText(PROGRESS_FILE, `${JSON.stringify(progress, null, 2)}\n`)
}

/**
 * Keeps the state of one exercise: another terminal may meanwhile have kept that of another one.
 * @param {string} folder @param {string} id @param {State} state
 */
export function keepState(folder, id, state) {
  const { format, exercises } = readProgress(folder)
  writeProgress(folder, { format, exercises: { ...exercises, [id]: state } })
}

/**
 * Forgets exercises and their measurements, and returns the ids of those that were begun. Touches nothing else in the folder.
 * @param {string} folder @param {Pick<Exercise, 'id' | 'name'>[]} exercises
 */
export function forget(folder, exercises) {
  const ids = exercises.map(({ id }) => id)
  const progress = readProgress(folder, ids)
  const begun = ids.filter((id) => id in progress.exercises)
  for (const { id, name } of exercises) {
    delete progress.exercises[id]
    forgetRun(folder, name)
  }
  if (begun.length > 0) writeProgress(folder, progress)
  return begun
}

/** Removes the run of an exercise: trials of an earlier attempt must not answer a new one. @param {string} folder @param {string} name */
export function forgetRun(folder, name) {
  fs.rmSync(path.join(folder, name), { recursive: true, force: true })
}

/** Whether a value from outside has the shape of an exercise's state. @param {any} value */
export function isState(value) {
  const answers = Array.isArray(value?.answers) && value.answers.every(isObject)
  const outcomes = Array.isArray(value?.outcomes) && value.outcomes.every(isObject)
  const isBegun = typeof value?.stage === 'string' && Number.isInteger(value.round) && isObject(value.facts)
  return isBegun && answers && outcomes && isObject(value.comparisons)
}

/** @param {unknown} value */
function isObject(value) {
  return typeof value === 'object' && value !== null
}

/** The initial state of an exercise. @param {Facts} facts of the machine @returns {State} */
export function newState(facts) {
  return { stage: 'before', round: 0, facts, answers: [], comparisons: {}, outcomes: [] }
}

/**
 * The reading of an incident's clock: how long it has run, or how long the incident took. It also runs while nobody plays.
 * @param {NonNullable<State['clock']>} clock @param {number} clock_min minutes allowed @param {number} [now_ms]
 */
export function clockText({ began_at, ended_at }, clock_min, now_ms = Date.now()) {
  const passed_s = secondsOf(began_at, ended_at ? Date.parse(ended_at) : now_ms)
  const passed = minutesText(passed_s)
  const isOver = passed_s > 60 * clock_min
  if (!ended_at) return `The clock: ${passed} of ${clock_min} min${isOver ? '; the time is up' : ''}.`
  return `The incident took ${passed}, ${isOver ? `which is more than the ${clock_min} min you had` : `of the ${clock_min} min you had`}.`
}

/** How long a solved incident took; null if it is not solved, or has no clock. @param {State} state */
export function incidentText({ clock }) {
  return clock?.ended_at ? minutesText(secondsOf(clock.began_at, Date.parse(clock.ended_at))) : null
}

/** A clock that was set back shows no time at all. @param {string} began_at @param {number} end_ms */
function secondsOf(began_at, end_ms) {
  return Math.max(0, Math.round((end_ms - Date.parse(began_at)) / 1000))
}

/** @param {number} whole_s */
function minutesText(whole_s) {
  return `${Math.floor(whole_s / 60)} min ${whole_s % 60} s`
}

/** @param {State | undefined} state */
export function stateText(state) {
  if (!state) return 'not begun'
  if (!isSolved(state)) return 'begun'
  return isShown(state) ? 'shown (--solution)' : `solved, tries: ${state.outcomes.length}`
}

/** Whether the exercise is solved, even if it was left before the text for the class. @param {State} state */
export function isSolved({ stage }) {
  return stage === 'explain' || stage === 'done'
}

/** Whether --solution answered any question. @param {State} state */
export function isShown({ answers }) {
  return answers.some(({ by }) => by === 'solution')
}
