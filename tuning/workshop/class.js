import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../load/command/errors.js'
import { answer, paragraph, table } from '../../load/report/blocks.js'
import { count, NONE, ratesText } from '../../load/report/format.js'
import { Results } from '../../load/run/results.js'
import { median } from '../../load/verdict/ranks.js'
import { EXERCISES } from './exercises/index.js'
import { incidentText, isShown, isSolved, readProgress } from './progress.js'

/** @import { State } from './progress.js' */

/**
 * The results of a class, by name. Each folder in `folder` is a student's results folder, which contains `workshop/` and runs; or
 * contains such a folder as `results/`; or is the folder of the workshop itself. A student without results has `isEmpty` set.
 * @param {string} folder @throws {UsageError} if there are none
 */
export function readClass(folder) {
  if (!fs.existsSync(folder)) throw new UsageError(`--class: expected a folder, got ${folder}`)
  const folders = fs.readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory())
  const students = folders.map(({ name }) => readStudent(path.join(folder, name)))
  if (students.some(({ isEmpty }) => !isEmpty)) return students.sort((a, b) => a.name.localeCompare(b.name))
  throw new UsageError(`--class: expected a results folder for each student in ${folder}, got none with anything in it`)
}

/** The results of a student. @param {string} place @typedef {ReturnType<typeof readStudent>} Student */
function readStudent(place) {
  const inner = path.join(place, 'results')
  const folder = fs.existsSync(inner) ? inner : place
  const own = [path.join(folder, 'workshop'), folder].find((one) => fs.existsSync(path.join(one, 'progress.json')))
  // Names of runs begin with their time.
  const names = fs.readdirSync(folder).sort()
  const runs = names.flatMap((name) => readRun(path.join(folder, name)) ?? [])
  const played = own && own !== folder ? fs.readdirSync(own).sort() : []
  const [{ machine } = { machine: null }] = [
    ...runs,
    ...played.flatMap((name) => readRun(path.join(String(own), name)) ?? []),
  ]
  return {
    name: path.basename(place),
    isEmpty: !own && runs.length === 0,
    exercises: /** @type {Record<string, State>} */ ({}),
    isUnreadable: /** @type {boolean | undefined} */ (undefined),
    machine: machine ? `${machine.cpu_model}, ${machine.cores} cores` : NONE,
    capacities: runs.flatMap(({ verb, capacity, problem, answer }) => {
      return verb === 'sweep' && capacity && !problem && answer !== 'none' ? [capacity] : []
    }),
    ...(own && exercisesIn(own)),
  }
}

/** @param {string} folder of a workshop @returns {{ exercises: Record<string, State>, isUnreadable?: true }} */
function exercisesIn(folder) {
  try {
    return { exercises: readProgress(folder).exercises }
  } catch (error) {
    // Nor must one broken file.
    if (error instanceof UsageError) return { exercises: {}, isUnreadable: true }
    throw error
  }
}

/** @param {string} folder @returns {any} null for no run, or one that ended before its first trial */
function readRun(folder) {
  try {
    return new Results(folder).readRun()
  } catch (error) {
    // One broken folder must not hide the others.
    if (error instanceof UsageError) return null
    throw error
  }
}

/** Capacities and results by student in one table, and guesses by exercise in another. @param {Student[]} students */
export function classBlocks(students) {
  const begun = EXERCISES.filter(({ id }) => students.some(({ exercises }) => id in exercises))
  const rows = students.map(({ name, machine, capacities, exercises, isUnreadable, isEmpty }) => [
    `${plain(name)}${isUnreadable ? ' (progress.json cannot be read)' : isEmpty ? ' (nothing was found)' : ''}`,
    plain(machine),
    capacities.map(ratesText).join('; ') || NONE,
    ...begun.map(({ id }) => markOf(exercises[id])),
  ])
  const guesses = begun.map(({ id, title, predict }) => {
    const states = students.flatMap(({ exercises }) => exercises[id] ?? []).filter((state) => !isShown(state))
    const judged = states.flatMap((state) => (predict ? state.comparisons.predict : firstOf(state)) ?? [])
    return [title, `${judged.filter(({ right }) => right).length} of ${judged.length}`, guessesText(states)]
  })
  const explanations = begun.flatMap(({ id, title }) => {
    return students.flatMap(({ name, exercises }) => {
      const said = exercises[id]?.answers.find(({ question, by }) => question === 'explain' && by === 'student')?.said
      return said ? [[plain(name), title, plain(said)]] : []
    })
  })
  return [
    answer(`Students: ${students.length}. Rates of different machines are not compared; guesses and outcomes are.`),
    table(['student', 'machine', 'capacity (sweep)', ...begun.map(({ id }) => id)], rows),
    paragraph(
      'For each exercise: + or - for the prediction (?: it was not judged), + or - for the expectation of the second run where the exercise asks for one, and the number of tries. An incident has no prediction: its first try counts as the guess, and the time it took follows the tries.',
    ),
    table(['exercise', 'guessed right', 'guesses'], guesses),
    ...(explanations.length > 0
      ? [table(['student', 'exercise', 'their explanation'], explanations, { align: ['l', 'l', 'l'] })]
      : []),
  ]
}

/** "+ - 2": the first guess was right, the second was not, solved in two tries; "?": the first was not judged. @param {State | undefined} state */
function markOf(state) {
  if (!state) return NONE
  const asked = ['predict', 'expect'].filter((name) => state.answers.some(({ question }) => question === name))
  const guesses = asked.map((name) => {
    const guess = state.comparisons[name]
    return guess ? (guess.right ? '+' : '-') : '?'
  })
  const took = incidentText(state)
  const end = isSolved(state) ? `${state.outcomes.length}${took ? ` (${took})` : ''}` : 'open'
  return [...guesses, isShown(state) ? 'shown' : end].join(' ')
}

/** The first try of an incident, which has no prediction, as a guess. @param {State} state */
function firstOf({ outcomes: [first] }) {
  return first && { right: first.solved }
}

/** Summarizes numbers by their range, and choices by their counts. @param {State[]} states */
function guessesText(states) {
  const values = states.flatMap(({ answers }) => {
    return answers.find(({ question }) => question === 'predict' || question === 'limits')?.value ?? []
  })
  if (values.length === 0) return NONE
  if (values.every((value) => typeof value === 'number')) {
    return `${count(Math.min(...values))} to ${count(Math.max(...values))}, median ${count(median(values))}`
  }
  const words = [...new Set(values)]
  return words.map((word) => `${plain(word)} ${values.filter((value) => value === word).length}x`).join(', ')
}

/** Removes markup and control characters: names of folders and answers come from outside. @param {unknown} text */
function plain(text) {
  return String(text).replace(/[|<>`]|\p{Cc}/gu, ' ')
}
