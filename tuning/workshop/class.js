import fs from 'node:fs'
import path from 'node:path'
import { capacityOf } from '../../load/capacity/ladder.js'
import { UsageError } from '../../load/command/errors.js'
import { answer, paragraph, table } from '../../load/report/blocks.js'
import { count, NONE, ratesText } from '../../load/report/format.js'
import { Results } from '../../load/run/results.js'
import { median } from '../stats/ranks.js'
import { EXERCISES } from './exercises/index.js'
import { folderOf, isShown, readProgress } from './progress.js'

/** @import { State } from './progress.js' */

/**
 * The results of a class: each folder in `folder` is a student's results folder, with `workshop/` and runs in it, or the
 * workshop's own.
 *
 * @typedef {NonNullable<ReturnType<typeof readPupil>>} Pupil
 *
 * @param {string} folder
 * @returns {Pupil[]} by name
 * @throws {UsageError} where there is nobody
 */
export function readClass(folder) {
  if (!fs.existsSync(folder)) throw new UsageError(`--class: expected a folder, got ${folder}`)
  const names = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const pupils = names.flatMap(({ name }) => readPupil(path.join(folder, name)) ?? [])
  if (pupils.length === 0) {
    throw new UsageError(
      `--class: expected a results folder for each student in ${folder}, got none with anything in it`,
    )
  }
  return pupils.sort((a, b) => a.name.localeCompare(b.name))
}

/** Capacities and guesses in one table, and how the class did in each exercise in another. @param {Pupil[]} pupils */
export function classBlocks(pupils) {
  const begun = EXERCISES.filter(({ id }) => pupils.some(({ exercises }) => id in exercises))
  return [
    answer(
      `${pupils.length} ${pupils.length === 1 ? 'student' : 'students'}. Rates of different machines are not compared; guesses and outcomes are.`,
    ),
    pupilsTable(pupils, begun),
    paragraph(
      'For each exercise: whether the guess was right (+ or -), whether the second guess was, and the number of tries.',
    ),
    ...(begun.length > 0 ? [exercisesTable(pupils, begun)] : []),
  ]
}

/** @param {Pupil[]} pupils @param {typeof EXERCISES} begun */
function pupilsTable(pupils, begun) {
  const head = ['student', 'machine', 'capacity (sweep)', 'kept (exercise 1)', ...begun.map(({ id }) => id)]
  const rows = pupils.map(({ name, machine, capacities, knee, exercises }) => [
    plain(name),
    plain(machine),
    capacities.map(ratesText).join('; ') || NONE,
    knee ? ratesText(knee) : NONE,
    ...begun.map(({ id }) => markOf(exercises[id])),
  ])
  return table(head, rows)
}

/** "+ - 2": the first guess was right, the second not, solved in two tries. @param {State | undefined} state */
function markOf(state) {
  if (!state) return NONE
  const { predict, expect } = state.comparisons
  const guesses = [predict, expect].flatMap((guess) => (guess ? [guess.right ? '+' : '-'] : []))
  const end = state.stage === 'done' ? String(state.round) : 'open'
  return [...guesses, isShown(state) ? 'shown' : end].join(' ')
}

/** @param {Pupil[]} pupils @param {typeof EXERCISES} begun */
function exercisesTable(pupils, begun) {
  const rows = begun.map(({ id, title }) => {
    const states = pupils.flatMap(({ exercises }) => exercises[id] ?? [])
    const own = states.filter((state) => !isShown(state))
    const guessed = own.filter(({ comparisons }) => comparisons.predict)
    const solved = own.filter(({ stage }) => stage === 'done')
    const minutes = solved.map((state) => (Date.parse(String(state.solved_at)) - Date.parse(state.started_at)) / 60_000)
    return [
      title,
      `${guessed.filter(({ comparisons }) => comparisons.predict.right).length} of ${guessed.length}`,
      guessesText(guessed),
      `${solved.length} of ${states.length}`,
      solved.length === 0 ? NONE : String(median(solved.map(({ round }) => round))),
      solved.length === 0 ? NONE : `${median(minutes).toFixed(0)} min`,
    ]
  })
  return table(['exercise', 'guessed right', 'guesses', 'solved', 'tries (median)', 'took (median)'], rows)
}

/** Numbers by their range, choices by how often each was made. @param {State[]} states */
function guessesText(states) {
  const values = states.flatMap(({ answers }) => answers.find(({ question }) => question === 'predict')?.value ?? [])
  if (values.length === 0) return NONE
  if (values.every((value) => typeof value === 'number')) {
    return `${count(Math.min(...values))} to ${count(Math.max(...values))}, median ${count(median(values))}`
  }
  const words = [...new Set(values.map(String))]
  return words.map((word) => `${plain(word)} ${values.filter((value) => String(value) === word).length}x`).join(', ')
}

/** A student's results, or null if the folder contains nothing of Redline's. @param {string} folder */
function readPupil(folder) {
  const own = [path.join(folder, 'workshop'), folder].find((one) => fs.existsSync(path.join(one, 'progress.json')))
  const exercises = own ? readProgress(own).exercises : {}
  // Names of runs begin with their time.
  const names = fs.readdirSync(folder).sort()
  const runs = names.flatMap((name) => readRun(path.join(folder, name)) ?? [])
  if (!own && runs.length === 0) return null
  const knee = own && exercises.knee ? folderOf(own, 'knee') : null
  const first = runs[0] ?? (knee && readRun(knee))
  return {
    name: path.basename(folder),
    machine: first?.machine ? `${first.machine.cpu_model}, ${first.machine.cores} cores` : NONE,
    capacities: runs.flatMap(({ verb, capacity }) => (verb === 'sweep' && capacity ? [capacity] : [])),
    knee: knee ? capacityOf(new Results(knee).readTrials()) : null,
    exercises,
  }
}

/** @param {string} folder @returns {any} null: no run, or one that ended before its first trial */
function readRun(folder) {
  if (!Results.holdsRun(folder)) return null
  try {
    return new Results(folder).readRun()
  } catch (error) {
    // One broken folder must not hide the others.
    if (error instanceof UsageError) return null
    throw error
  }
}

/** Names of folders come from outside. @param {string} text */
function plain(text) {
  return text.replace(/[|\r\n<>`]/g, ' ')
}
