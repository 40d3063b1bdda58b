import path from 'node:path'
import { withDatabase } from '../../load/command/environment.js'
import { OtherConditions, UsageError } from '../../load/command/errors.js'
import { numberFlag, seedFlag, switchFlag } from '../../load/command/flags.js'
import { spoken } from '../../load/command/spoken.js'
import { paragraph, table } from '../../load/report/blocks.js'
import { terminalOf } from '../../load/report/terminal.js'
import { Results } from '../../load/run/results.js'
import { DATABASE_FLAG } from '../../load/system/ssh/plan.js'
import { quoted } from '../../load/system/ssh/remote.js'
import { openDesk } from './desk.js'
import { EXERCISES } from './exercises/index.js'
import { exerciseExperiment } from './experiment.js'
import { play, Stopped } from './player.js'
import { forget, readProgress, stateText } from './progress.js'
import { handIn } from './student.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { Action } from '../../load/run/experiment.js'
 */

const DEFAULTS = { out: path.join('results', 'workshop') }
const DEFAULT_SEED = 1

const FLAGS = {
  list: switchFlag('list the exercises and your progress'),
  exercise: numberFlag('play this one (default: the first that is not solved)', 1, EXERCISES.length),
  solution: switchFlag('play the solution from where you are: show its answers, and measure them'),
  'hand-in': { value: 'FILE.json', about: 'write what you did to one file, for the teacher' },
  reset: switchFlag('forget the answers and measurements of --exercise N, or of all exercises'),
  out: { value: 'DIR', about: `folder for progress and results (default ${DEFAULTS.out})` },
  ...DATABASE_FLAG,
  seed: seedFlag(`seed of the users (default ${DEFAULT_SEED})`),
  json: switchFlag('print only the progress, as JSON, on stdout; the exercise goes to stderr'),
}

/** `npm run workshop`: exercises that are decided by measurement. @type {Action} */
export const workshop = {
  about: 'exercises on a slow service: predict its limit, measure, change a setting, measure again',
  experiment: exerciseExperiment,
  flags: FLAGS,
  examples: `  npm run workshop                          continues where you left off; an exercise takes 5 to 15 minutes
  npm run workshop -- --exercise 4
  npm run workshop -- --exercise 4 --solution
  npm run workshop -- --hand-in ada.json`,

  async run({ given, json }, io) {
    const flags = /** @type {Flags} */ ({ ...DEFAULTS, ...given, json })
    refuseBoth(flags)
    const environment = withDatabase(io.environment, flags['database-url'])
    const { said, problem = null } = withoutPlaying(flags) ?? (await playOne(flags, { ...io, environment }))
    const progress = readProgress(flags.out).exercises
    const exercises = EXERCISES.map(({ number, id, title }) => ({ number, id, title, state: progress[id] ?? null }))
    const blocks = [typeof said === 'string' ? paragraph(said) : said]
    return { run: { verb: 'workshop', exercises, problem }, text: terminalOf(blocks), folder: null }
  },
}

/**
 * @typedef {Record<string, any> & typeof DEFAULTS & { seed?: number }} Flags seed: only if it was given
 * @typedef {{ said: string | Block, problem?: string | null }} Said problem: why there is no trustworthy answer
 */

/** @param {Flags} flags */
function refuseBoth(flags) {
  const given = ['list', 'solution', 'hand-in', 'reset'].filter((name) => flags[name])
  if (given.length > 1) throw new UsageError(`--${given[1]}: cannot be combined with --${given[0]}`)
  const alone = ['list', 'hand-in'].find((name) => flags[name])
  if (alone && flags.exercise) throw new UsageError(`--exercise: cannot be combined with --${alone}`)
}

/** Output of --hand-in, --list and --reset. @param {Flags} flags @returns {Said | null} */
function withoutPlaying({ 'hand-in': file, list, reset, exercise, out: folder }) {
  if (file) return { said: handIn(file, folder) }
  if (list) {
    const { exercises } = readProgress(folder)
    const rows = EXERCISES.map(({ number, id, title, minutes, difficulty }) => {
      return [`${number}. ${title}`, `${minutes} min`, difficulty.replace(/;.*/, ''), stateText(exercises[id])]
    })
    return { said: table(['exercise', 'takes', 'difficulty', 'you'], rows) }
  }
  if (!reset) return null
  const begun = forget(folder, exercise === undefined ? EXERCISES : [EXERCISES[exercise - 1]])
  return { said: begun.length === 0 ? 'No exercise was begun.' : `Forgotten: ${begun.join(', ')}.` }
}

/** @param {Flags} flags @param {Io} io @returns {Promise<Said>} */
async function playOne(flags, io) {
  const { out: folder, exercise: wanted } = flags
  const progress = readProgress(folder)
  const unsolved = EXERCISES.find(({ id }) => progress.exercises[id]?.stage !== 'done')
  const exercise = wanted === undefined ? unsolved : EXERCISES[wanted - 1]
  if (!exercise) return { said: 'All exercises are solved. --exercise N shows one again, --reset forgets them.' }
  const { number, title, difficulty, needs } = exercise
  if (progress.exercises[exercise.id]) refuseOtherSeed(exercise, flags)
  const desk = openDesk(exercise, progress, { seed: DEFAULT_SEED, ...flags }, io)
  desk.head(`Exercise ${number} of ${EXERCISES.length}: ${title}`)
  desk.say(`Difficulty: ${difficulty}.`)
  if (needs) desk.say(`Needs: ${needs}`)
  desk.save()
  try {
    await play(desk)
  } catch (error) {
    const command = commandOf(number, folder)
    if (error instanceof Stopped) return { said: `Progress saved. To continue: ${command}`, problem: error.problem }
    if (io.signal.aborted) process.stderr.write(`\nkept; continue with: ${command}\n`)
    // The message of the error names --resume, which nobody typed.
    if (!(error instanceof OtherConditions)) throw error
    throw new UsageError(`${error.because}; ${startAgain(command)}`)
  } finally {
    desk.close()
  }
  const next = EXERCISES[number]
  return { said: next ? `Next, ${next.title}:\n${commandOf(next.number, folder)}` : 'That was the last one.' }
}

/** An exercise keeps the seed it was begun with. @param {{ number: number, name: string }} exercise @param {Flags} flags @throws {UsageError} */
function refuseOtherSeed({ number, name }, { out, seed }) {
  const results = new Results(path.join(out, name))
  // A run that was killed before its first trial has no plan.
  if (seed === undefined || !Results.holdsRun(results.folder) || results.isUnused()) return
  const kept = results.readRun().plan.mix.seed
  if (kept === seed) return
  const again = startAgain(commandOf(number, out))
  throw new UsageError(`--seed: expected ${kept}, with which the exercise was begun, got ${seed}; ${again}`)
}

/** @param {string} command */
function startAgain(command) {
  return `${command} --reset forgets the exercise, so that it can start again`
}

/** @param {number} number @param {string} folder */
function commandOf(number, folder) {
  return spoken(`npm run workshop -- --exercise ${number}${folder === DEFAULTS.out ? '' : ` --out ${quoted(folder)}`}`)
}
