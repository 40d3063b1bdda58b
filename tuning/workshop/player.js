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
 * An exercise, and what its player needs.
 *
 * @typedef {object} Desk
 * @property {Exercise} exercise
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

/** Plays an exercise from where it is to its end. @param {Desk} desk @throws {Left} when the student leaves */
export async function play(desk) {
  const { exercise, state, say, save } = desk
  for (const paragraph of exercise.symptoms) say(paragraph)
  for (const text of [remarkOf(state.facts), exercise.remark(state.facts)]) if (text) say(`Here: ${text}`)
  if (['turn', 'expect', 'again', 'done'].includes(state.stage)) showEvidence(desk)
  while (state.stage !== 'done') {
    state.stage = await STAGES[state.stage](desk)
    if (state.stage === 'done') state.solved_at = new Date().toISOString()
    save()
  }
  for (const paragraph of exercise.discussion) say(paragraph)
}

/** Each stage does its part and gives the next. @type {Record<Exclude<Stage, 'done'>, (desk: Desk) => Promise<Stage>>} */
const STAGES = {
  async before(desk) {
    desk.say('First, what this machine takes:')
    await take(desk.exercise.before(desk.state.facts), desk)
    return 'predict'
  },

  async predict(desk) {
    desk.head('Predict')
    await ask('predict', desk.exercise.predict, desk)
    return 'first'
  },

  async first(desk) {
    desk.say('Now it is measured.')
    await take(desk.exercise.first(foundOf(desk)), desk)
    return 'read'
  },

  async read(desk) {
    desk.head('Evidence')
    const found = showEvidence(desk)
    const measured = desk.exercise.first(found)
    const spoiled = spoiledBy(measured, found)
    if (spoiled.length === measured.length) desk.say(`Your guess is not judged: ${spoiled[0]}.`)
    else judgeGuess('predict', desk.exercise.compare(found), desk)
    return 'turn'
  },

  async turn(desk) {
    desk.head('Turn a knob')
    await ask('turn', desk.exercise.turn, desk)
    desk.state.round++
    return desk.exercise.expect ? 'expect' : 'again'
  },

  async expect(desk) {
    if (desk.exercise.expect) await ask('expect', desk.exercise.expect, desk)
    return 'again'
  },

  async again(desk) {
    desk.say('Now it is measured.')
    const problem = await take(desk.exercise.again(foundOf(desk)), desk)
    if (problem === null) return 'outcome'
    desk.say(`That could not be measured: ${problem}. Choose again.`)
    return 'turn'
  },

  async outcome(desk) {
    const { exercise, state, say, head } = desk
    head('What came of it')
    const found = showEvidence(desk)
    const [spoiled] = spoiledBy(exercise.again(found), found)
    if (spoiled) {
      say(`Not judged: ${spoiled}. Answer the same to measure it again.`)
      return 'turn'
    }
    if (exercise.compareExpected) judgeGuess('expect', exercise.compareExpected(found), desk)
    const outcome = exercise.outcome(found)
    state.outcomes.push(outcome)
    say(`${outcome.solved ? 'Solved' : 'Not solved'}: ${outcome.because}.`)
    return outcome.solved ? 'done' : 'turn'
  },
}

/** @param {Desk} desk */
function showEvidence(desk) {
  const found = foundOf(desk)
  desk.say(evidenceOf(desk.exercise, found))
  return found
}

/** Measurements that should describe the service but do not. @param {Measurement[]} measurements @param {Found} found */
function spoiledBy(measurements, { trials }) {
  const spoiled = measurements.filter((measurement) => !countsFor(measurement, trials[measurement.name]))
  return spoiled.map(({ name }) => `"${name}" says nothing about the service: ${trials[name].outcome.because}`)
}

/** What the student chose may fail: this returns why. @param {Measurement[]} measurements @param {Desk} desk */
async function take(measurements, { exercise, state, folder, seed, io, say }) {
  const isChosen = state.stage === 'again'
  const stage = { exercise: exercise.id, measurements, round: isChosen ? state.round : 0 }
  const { problem, warnings } = await measure({ ...stage, folder, facts: state.facts, seed, io })
  if (state.stage === 'before') for (const warning of warnings) say(`Warning: ${warning}.`)
  if (problem !== null && !isChosen) throw new Unmeasured(problem)
  return problem
}

/** Asks until the answer is understood, and keeps it. @param {string} name @param {Question} question @param {Desk} desk */
async function ask(name, question, desk) {
  const { exercise, state, student, say, save } = desk
  const found = foundOf(desk)
  const { kind, hints } = question
  const expected = kind.expected(found.facts)
  say(questionBlocks(question, found.facts, exercise.figures(found)))
  say(`(${expected}; "hint" helps, "quit" leaves)`)
  for (const asked_ms = Date.now(); ; ) {
    const said = await student.line(question, found)
    if (said === null || /^(quit|exit|q)$/i.test(said)) throw new Left()
    if (/^(hint|help|\?)$/i.test(said)) {
      const given = state.hints[name] ?? 0
      const hint = hints[given] && `Hint ${given + 1} of ${hints.length}: ${hints[given]}`
      say(hint ?? 'That was all; leave, and --solution plays it from here.')
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
    say(`Expected ${expected}, got ${JSON.stringify(said)}.`)
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
