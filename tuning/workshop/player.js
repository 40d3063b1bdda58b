import { evidenceOf } from './evidence.js'
import { questionBlocks } from './exercise.js'
import { countsFor, measure, trialsIn } from './experiment.js'
import { remarkOf } from './facts.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { Comparison, Exercise, Found, Measurement, Question } from './exercise.js'
 * @import { Stage, State } from './progress.js'
 */

/** The student leaves before the end; progress is kept. */
export class Left extends Error {}

/** A measurement that an exercise depends on failed on this machine, or failed this time. */
export class Unmeasured extends Error {}

/**
 * What a player needs around an exercise.
 *
 * @typedef {object} Desk
 * @property {State} state goes on from where it is
 * @property {() => void} save
 * @property {string} folder of the exercise
 * @property {number} seed
 * @property {Io} io
 * @property {(what: string | Block[]) => void} say
 * @property {(text: string) => void} head a heading
 * @property {Student} student
 *
 * @typedef {object} Student whoever answers
 * @property {'student' | 'solution'} by
 * @property {(question: Question, found: Found) => Promise<string | null>} line null: there will be no more
 */

/**
 * Plays an exercise from where it is to its end.
 *
 * @param {Exercise} exercise
 * @param {Desk} desk
 * @throws {Left} when the student leaves
 */
export async function play(exercise, desk) {
  const { state, say } = desk
  const { symptoms, remark, discussion } = exercise
  for (const paragraph of symptoms) say(paragraph)
  for (const text of [remarkOf(state.facts), remark?.(state.facts)]) if (text) say(`Here: ${text}`)
  if (!['before', 'predict', 'first', 'read', 'outcome'].includes(state.stage)) showEvidence(exercise, desk)
  while (state.stage !== 'done') {
    state.stage = await STAGES[state.stage](exercise, desk)
    if (state.stage === 'done') state.solved_at = new Date().toISOString()
    desk.save()
  }
  for (const paragraph of discussion) say(paragraph)
}

/** Each stage does its part and gives the next. @type {Record<Exclude<Stage, 'done'>, (exercise: Exercise, desk: Desk) => Promise<Stage>>} */
const STAGES = {
  async before(exercise, desk) {
    desk.say('First, what this machine takes:')
    await take(exercise.before(desk.state.facts), exercise, desk)
    return 'predict'
  },

  async predict(exercise, desk) {
    desk.head('Predict')
    await ask('predict', exercise, desk)
    return 'first'
  },

  async first(exercise, desk) {
    desk.say('Now it is measured.')
    await take(exercise.first(foundOf(desk)), exercise, desk)
    return 'read'
  },

  async read(exercise, desk) {
    const found = foundOf(desk)
    desk.head('Evidence')
    showEvidence(exercise, desk)
    const measured = exercise.first(found)
    const spoiled = spoiledBy(measured, found)
    if (spoiled.length > 0 && spoiled.length === measured.length) {
      desk.say(`Your guess is not judged: ${spoiled[0]}.`)
    } else judgeGuess('predict', exercise.compare(found), desk)
    return 'turn'
  },

  async turn(exercise, desk) {
    desk.head('Turn a knob')
    await ask('turn', exercise, desk)
    desk.state.round++
    return exercise.expect ? 'expect' : 'again'
  },

  async expect(exercise, desk) {
    await ask('expect', exercise, desk)
    return 'again'
  },

  async again(exercise, desk) {
    desk.say('Now it is measured.')
    const problem = await take(exercise.again(foundOf(desk)), exercise, desk, { isChosen: true })
    if (problem === null) return 'outcome'
    desk.say(`That could not be measured: ${problem}. Choose again.`)
    return 'turn'
  },

  async outcome(exercise, desk) {
    const found = foundOf(desk)
    desk.head('What came of it')
    showEvidence(exercise, desk)
    const [spoiled] = spoiledBy(exercise.again(found), found)
    if (spoiled) {
      desk.say(`Not judged: ${spoiled}. Answer the same to measure it again.`)
      return 'turn'
    }
    const expected = exercise.compareExpected?.(found)
    if (expected) judgeGuess('expect', expected, desk)
    const outcome = exercise.outcome(found)
    desk.state.outcomes.push(outcome)
    desk.say(`${outcome.solved ? 'Solved' : 'Not solved'}: ${outcome.because}.`)
    return outcome.solved ? 'done' : 'turn'
  },
}

/** @param {Exercise} exercise @param {Desk} desk */
function showEvidence(exercise, desk) {
  desk.say(evidenceOf(exercise, foundOf(desk)))
}

/** Measurements that should describe the service but do not. @param {Measurement[]} measurements @param {Found} found */
function spoiledBy(measurements, { trials }) {
  const spoiled = measurements.filter((measurement) => !countsFor(measurement, trials[measurement.name]))
  return spoiled.map(({ name }) => `"${name}" says nothing about the service: ${trials[name].outcome.because}`)
}

/**
 * @param {Measurement[]} measurements
 * @param {Exercise} exercise
 * @param {Desk} desk
 * @param {{ isChosen?: boolean }} [options] isChosen: by the student, who can choose again
 * @returns {Promise<string | null>} why it could not be measured
 */
async function take(measurements, exercise, { state, folder, seed, io, say }, { isChosen = false } = {}) {
  const round = isChosen ? state.round : 0
  const { problem, warnings } = await measure({ exercise, measurements, round, folder, facts: state.facts, seed, io })
  if (state.stage === 'before') for (const warning of warnings) say(`Warning: ${warning}.`)
  if (problem !== null && !isChosen) throw new Unmeasured(problem)
  return problem
}

const NO_MORE_HINTS = 'That was all; leave, and --solution plays it from here.'

/**
 * Asks until the answer can be understood, and keeps it with its time.
 *
 * @param {'predict' | 'turn' | 'expect'} name
 * @param {Exercise} exercise
 * @param {Desk} desk
 */
async function ask(name, exercise, desk) {
  const question = exercise[name]
  if (!question) throw new Error(`expected a question ${name} in ${exercise.id}`)
  const { state, student, say, save } = desk
  const found = foundOf(desk)
  const { kind, hints } = question
  say(questionBlocks(question, found.facts, exercise.figures(found)))
  say(`(${kind.expected(found.facts)}; "hint" helps, "quit" leaves)`)
  for (const asked_ms = Date.now(); ; ) {
    const said = await student.line(question, found)
    if (said === null || /^(quit|exit|q)$/i.test(said)) throw new Left()
    if (/^(hint|help|\?)$/i.test(said)) {
      const given = state.hints[name] ?? 0
      say(given < hints.length ? `Hint ${given + 1} of ${hints.length}: ${hints[given]}` : NO_MORE_HINTS)
      state.hints[name] = Math.min(given + 1, hints.length)
      save()
      continue
    }
    const value = kind.parse(said, found.facts)
    if (value !== undefined) {
      const at = new Date().toISOString()
      state.answers.push({ question: name, said, value, by: student.by, at, took_ms: Date.now() - asked_ms })
      return
    }
    say(`Expected ${kind.expected(found.facts)}, got ${JSON.stringify(said)}.`)
  }
}

/** @param {string} name @param {Comparison} comparison @param {Desk} desk */
function judgeGuess(name, comparison, { state, say }) {
  state.comparisons[name] = comparison
  say(`Your guess: ${comparison.right ? 'right' : 'not so'}. ${comparison.text}`)
}

/** All that is known so far. @param {Pick<Desk, 'state' | 'folder'>} desk @returns {Found} */
export function foundOf({ state, folder }) {
  const answers = Object.fromEntries(state.answers.map(({ question, value }) => [question, value]))
  return { facts: state.facts, trials: trialsIn(folder), answers }
}
