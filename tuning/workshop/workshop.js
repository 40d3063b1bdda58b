import path from 'node:path'
import { styleText } from 'node:util'
import { withDatabase } from '../../load/command/environment.js'
import { OtherConditions, UsageError } from '../../load/command/errors.js'
import { helpText, parseFlags, wholeNumber } from '../../load/command/flags.js'
import { paragraph, table } from '../../load/report/blocks.js'
import { TERMINAL_COLUMNS, terminalOf } from '../../load/report/terminal.js'
import { DATABASE_FLAG } from '../../load/system/ssh/plan.js'
import { EXERCISES } from './exercises/index.js'
import { exerciseExperiment } from './experiment.js'
import { factsOfMachine } from './facts.js'
import { createKeyboard } from './keyboard.js'
import { Left, play, Unmeasured } from './player.js'
import { folderOf, forget, newState, readProgress, stateText, writeProgress } from './progress.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { Ended, Verb } from '../../load/run/shell.js'
 * @import { Question } from './exercise.js'
 * @import { Student } from './player.js'
 */

const DEFAULTS = { out: path.join('results', 'workshop'), seed: 1 }

const FLAGS = {
  list: { value: '', about: 'the exercises, and how far you are' },
  exercise: {
    value: 'N',
    about: 'this one (default: the first that is not solved)',
    ...wholeNumber(1, EXERCISES.length),
  },
  solution: { value: '', about: 'plays the solution from where you are: says what it answers, and measures it' },
  reset: { value: '', about: 'forgets what was answered and measured, of --exercise N or of all' },
  out: { value: 'DIR', about: `folder for progress and results (default ${DEFAULTS.out})` },
  ...DATABASE_FLAG,
  seed: { value: 'N', about: `of the users (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
  json: { value: '', about: 'the progress as JSON on stdout, and nothing else there; the exercise goes to stderr' },
  help: { value: '', about: 'this text' },
}

const EXAMPLES = `  npm run workshop                          goes on where you left; an exercise takes 5 to 10 minutes
  npm run workshop -- --exercise 4
  npm run workshop -- --exercise 4 --solution`

/**
 * `npm run workshop`: exercises that are decided by measurement.
 *
 * @type {Verb}
 */
export const workshop = {
  about: 'exercises: predict, measure, turn a knob, measure again',
  experiment: exerciseExperiment,
  help: helpText(
    'npm run workshop -- [flags]\n\nExercises on a service that is slow: predict its limit, measure, turn a knob, measure again.',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const flags = parseFlags(FLAGS, argv)
    refuseBoth(flags)
    const { out: folder, seed } = { ...DEFAULTS, ...flags }
    if (flags.list) return endedWith({ said: exerciseList(folder) }, folder, flags)
    if (flags.reset) return endedWith({ said: resetText(folder, flags.exercise) }, folder, flags)
    const environment = withDatabase(io.environment, flags['database-url'])
    return endedWith(await playOne({ ...flags, folder, seed }, { ...io, environment }), folder, flags)
  },
}

/** @param {Record<string, any>} flags */
function refuseBoth(flags) {
  const given = ['list', 'solution', 'reset'].filter((name) => flags[name])
  if (given.length > 1) throw new UsageError(`--${given[1]}: cannot be combined with --${given[0]}`)
  if (flags.list && flags.exercise) throw new UsageError('--exercise: cannot be combined with --list')
}

/** @param {Said} said @param {string} folder @param {Record<string, any>} flags @returns {Ended} */
function endedWith({ said, problem = null }, folder, { json = false }) {
  const { exercises } = readProgress(folder)
  const states = EXERCISES.map(({ id, title }, i) => ({ number: i + 1, id, title, state: exercises[id] ?? null }))
  const blocks = [typeof said === 'string' ? paragraph(said) : said]
  return { run: { verb: 'workshop', exercises: states, problem }, records: [], blocks, folder: null, json }
}

/** @typedef {{ said: string | Block, problem?: string | null }} Said problem: why there is no trustworthy answer */

/**
 * @param {{ folder: string, seed: number, exercise?: number, solution?: boolean, json?: boolean }} options
 * @param {Io} io
 * @returns {Promise<Said>}
 */
async function playOne({ folder, seed, exercise: wanted, solution, json }, io) {
  const progress = readProgress(folder)
  const number = wanted ?? EXERCISES.findIndex(({ id }) => progress.exercises[id]?.stage !== 'done') + 1
  if (number === 0) return { said: 'All exercises are solved. --exercise N shows one again, --reset forgets them.' }
  const exercise = EXERCISES[number - 1]
  progress.exercises[exercise.id] ??= newState(factsOfMachine())
  const state = progress.exercises[exercise.id]
  const output = json ? process.stderr : process.stdout
  const columns = Math.min(output.columns || TERMINAL_COLUMNS, TERMINAL_COLUMNS)
  const hasBold = output.isTTY && !io.environment.settings.NO_COLOR
  const say = (/** @type {string | Block[]} */ what) => {
    const blocks = typeof what === 'string' ? [paragraph(what)] : what
    output.write(`${terminalOf(blocks, columns)}\n\n`)
  }
  const keyboard = solution ? null : createKeyboard(process.stdin, output, io.signal)
  const desk = {
    state,
    save: () => writeProgress(folder, progress),
    folder: folderOf(folder, exercise.id),
    seed,
    io,
    say,
    head: (/** @type {string} */ text) => say(hasBold ? styleText('bold', text) : text),
    student: keyboard ? { by: /** @type {const} */ ('student'), line: keyboard.line } : solver(say),
  }
  desk.head(`Exercise ${number} of ${EXERCISES.length}: ${exercise.title}`)
  if (exercise.needs) say(`Needs: ${exercise.needs}`)
  if (state.stage !== 'before') say(`You were here before: ${stateText(state)}.`)
  desk.save()
  try {
    await play(exercise, desk)
  } catch (error) {
    const command = commandOf(number, folder)
    if (error instanceof Left && solution) return { said: KEPT, problem: 'the solution did not hold here and now' }
    if (error instanceof Left) return { said: `Kept. ${command} goes on here.` }
    if (error instanceof Unmeasured) return { said: `Kept. ${command} tries again.`, problem: error.message }
    if (io.signal.aborted) process.stderr.write(`\nkept; go on with: ${command}\n`)
    // Nobody typed a --resume.
    if (!(error instanceof OtherConditions)) throw error
    throw new UsageError(`${error.because}; ${command} --reset forgets it, so that it can begin anew`)
  } finally {
    keyboard?.close()
  }
  const next = EXERCISES[number]
  return { said: next ? `Next, ${next.title}:\n${commandOf(number + 1, folder)}` : 'That was the last one.' }
}

const KEPT = 'Kept. On a machine that has nothing else to do it may come out otherwise.'

/** A question that is asked again had a solution that did not hold; further tries would not differ. */
const MOST_SOLUTIONS = 3

/** Answers with the solutions. @param {(text: string) => void} say @returns {Student} */
function solver(say) {
  /** @type {Question[]} */
  const answered = []
  return {
    by: 'solution',
    line: async (question, found) => {
      answered.push(question)
      if (answered.filter((one) => one === question).length > MOST_SOLUTIONS) return null
      const answer = question.solution(found)
      say(`The solution answers: ${answer}`)
      return answer
    },
  }
}

/** @param {number} number @param {string} folder */
function commandOf(number, folder) {
  return `npm run workshop -- --exercise ${number}${folder === DEFAULTS.out ? '' : ` --out ${folder}`}`
}

/** @param {string} folder */
function exerciseList(folder) {
  const { exercises } = readProgress(folder)
  const rows = EXERCISES.map(({ id, title, minutes }, i) => {
    return [`${i + 1}. ${title}`, `${minutes} min`, stateText(exercises[id])]
  })
  return table(['exercise', 'takes', 'you'], rows)
}

/** @param {string} folder @param {number | undefined} number */
function resetText(folder, number) {
  const ids = number === undefined ? EXERCISES.map(({ id }) => id) : [EXERCISES[number - 1].id]
  const begun = forget(folder, ids)
  return begun.length === 0 ? 'Nothing was begun.' : `Forgotten: ${begun.join(', ')}.`
}
