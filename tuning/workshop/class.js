import fs from 'node:fs'
import path from 'node:path'
import { UsageError } from '../../load/command/errors.js'
import { answer, paragraph, table } from '../../load/report/blocks.js'
import { count, NONE, ratesText } from '../../load/report/format.js'
import { median } from '../../load/verdict/ranks.js'
import { EXERCISES } from './exercises/index.js'
import { incidentText, isShown, isSolved } from './progress.js'
import { readHandIn, readStudent } from './student.js'

/**
 * @import { State } from './progress.js'
 * @import { Student } from './student.js'
 */

/**
 * The results of a class, by name. Each folder in `folder` is a student's, and so is each .json file, which the student handed in.
 * @param {string} folder @throws {UsageError} if there are none
 */
export function readClass(folder) {
  if (!fs.existsSync(folder)) throw new UsageError(`--class: expected a folder, got ${folder}`)
  const entries = fs.readdirSync(folder, { withFileTypes: true })
  const students = entries.flatMap((entry) => {
    const place = path.join(folder, entry.name)
    if (entry.isDirectory()) return [readStudent(place)]
    return entry.isFile() && path.extname(entry.name) === '.json' ? [readHandIn(place)] : []
  })
  if (students.some(({ isEmpty }) => !isEmpty)) return students.sort((a, b) => a.name.localeCompare(b.name))
  throw new UsageError(
    `--class: expected a results folder or a hand-in (.json) of each student in ${folder}, got none with anything in it`,
  )
}

/** Capacities and results by student in one table, and guesses by exercise in another. @param {Student[]} students */
export function classBlocks(students) {
  const begun = EXERCISES.filter(({ id }) => students.some(({ exercises }) => id in exercises))
  const rows = students.map(({ name, machine, capacities, exercises, unreadable, isEmpty }) => [
    `${plain(name)}${unreadable ? ` (${plain(unreadable)} cannot be read)` : isEmpty ? ' (nothing was found)' : ''}`,
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
