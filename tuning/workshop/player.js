import { OtherConditions } from '../../load/command/errors.js'
import { Results } from '../../load/run/results.js'
import { evidenceOf } from './evidence.js'
import { figuresOf, questionBlocks } from './exercise.js'
import { countsFor, measure, trialsByName } from './experiment.js'
import { clockText } from './progress.js'

/**
 * @import { Desk } from './desk.js'
 * @import { Asked, Facts, Found, Measurement } from './exercise.js'
 * @import { State } from './progress.js'
 */

/** The exercise cannot continue now; progress is kept. */
export class Stopped extends Error {
  /** @param {string | null} problem null if the student left */
  constructor(problem) {
    super(problem ?? 'the student left')
    this.problem = problem
  }
}

/**
 * Plays an exercise from its current stage to its end.
 * @param {Desk} desk @throws {Stopped} @throws {OtherConditions} if what was measured earlier is gone
 */
export async function play(desk) {
  const { exercise, state, say, save } = desk
  checkMeasured(desk)
  for (const paragraph of exercise.symptoms) say(paragraph)
  for (const text of [remarkOf(state.facts), exercise.remark(state.facts)]) if (text) say(`Here: ${text}`)
  if (hasEvidence(state)) say(evidenceOf(exercise, foundOf(desk)))
  while (state.stage !== 'done') {
    state.stage = await STAGES[state.stage](desk)
    save()
  }
  for (const paragraph of exercise.discussion) say(paragraph)
}

/** Answers are of no use without the measurements that they are about. @param {Desk} desk @throws {OtherConditions} */
function checkMeasured({ exercise, state, folder }) {
  if (state.stage === 'before') return
  const found = foundOf({ state, folder })
  const isHere = (/** @type {Measurement} */ { name }) => name in found.trials
  if (isHere(exercise.before(state.facts)) && (!hasEvidence(state) || exercise.first(found).every(isHere))) return
  const got = Object.keys(found.trials).join(', ') || 'none'
  throw new OtherConditions(`${folder}: expected the measurements of the exercise, got ${got}`)
}

/** Whether the first evidence was measured. @param {State} state */
function hasEvidence({ stage }) {
  return !['before', 'predict', 'first'].includes(stage)
}

/** A remark that a student needs before anything is measured. @param {Facts} facts @returns {string | null} */
function remarkOf({ pinned, cores }) {
  if (pinned) return null
  const why = cores === 1 ? 'There is one core to use' : 'This system cannot pin a process to a core'
  return `${why}: the service shares it with Postgres, the generator and this program. Rates are lower than on cores of their own, and vary more; what is compared here are ratios, which hold.`
}

/**
 * Each stage does its part and returns the next stage. An interrupted stage starts again, but keeps its finished measurements.
 * @type {Record<Exclude<State['stage'], 'done'>, (desk: Desk) => Promise<State['stage']>>}
 */
const STAGES = {
  async before(desk) {
    desk.say('First, the throughput of this machine:')
    const { problem, warnings } = await measure([desk.exercise.before(desk.state.facts)], 0, desk)
    for (const warning of warnings) desk.say(`Warning: ${warning}.`)
    if (problem !== null) throw new Stopped(problem)
    return 'predict'
  },

  predict: asks('predict', 'first'),

  async first(desk) {
    const { exercise, state } = desk
    const measurements = exercise.first(foundOf(desk))
    const { problem, found } = await measured('Evidence', measurements, 0, desk)
    if (problem !== null) throw new Stopped(problem)
    if (exercise.clock_min) state.clock ??= { began_at: new Date().toISOString() }
    const spoiled = spoiledBy(measurements, found)
    if (spoiled.length === measurements.length)
      desk.say(`${exercise.predict ? 'Your guess is not judged' : 'This evidence may mislead'}: ${spoiled[0]}.`)
    else judge('predict', found, desk)
    return 'limits'
  },

  limits: asks('limits', 'turn'),

  turn: asks('turn', 'expect'),

  async expect(desk) {
    await ask('expect', desk)
    desk.state.round++
    return 'again'
  },

  async again(desk) {
    const { exercise, state, say } = desk
    const measurements = exercise.again(foundOf(desk))
    const { problem, found } = await measured('Result', measurements, state.round, desk)
    const because = problem ?? spoiledBy(measurements, found)[0]
    if (because) {
      say(`Not judged: ${because}. Choose again; the same answer is measured again.`)
      return 'turn'
    }
    judge('expect', found, desk)
    const outcome = exercise.outcome(found)
    state.outcomes.push(outcome)
    say(`${outcome.solved ? 'Solved' : 'Not solved'}: ${outcome.because}.`)
    if (!outcome.solved) return 'limits'
    if (state.clock) {
      state.clock.ended_at = new Date().toISOString()
      say(clockText(state.clock, Number(exercise.clock_min)))
    }
    return 'explain'
  },

  explain: asks('explain', 'done'),
}

/** A stage that asks a question, if the exercise has it. @param {Asked} name @param {State['stage']} next @returns {(desk: Desk) => Promise<State['stage']>} */
function asks(name, next) {
  return async (desk) => {
    await ask(name, desk)
    return next
  }
}

/** Measures, and shows all evidence so far. @param {string} title @param {Measurement[]} measurements @param {number} round @param {Desk} desk */
async function measured(title, measurements, round, desk) {
  desk.say('Now it is measured.')
  const { problem } = await measure(measurements, round, desk)
  desk.head(title)
  const found = foundOf(desk)
  desk.say(evidenceOf(desk.exercise, found))
  return { problem, found }
}

/** Reasons why measurements that should describe the service do not. @param {Measurement[]} measurements @param {Found} found */
function spoiledBy(measurements, { trials }) {
  const spoiled = measurements.filter((measurement) => !countsFor(measurement, trials[measurement.name]))
  return spoiled.map(({ name }) => `"${name}" says nothing about the service: ${trials[name].outcome.because}`)
}

/** Asks until the answer is understood, and keeps it. @param {Asked} name @param {Desk} desk */
async function ask(name, desk) {
  const { exercise, state, say, by } = desk
  const question = exercise[name]
  if (!question) return
  // The expected effect belongs to the knob.
  if (name !== 'expect') desk.head(question.title)
  const found = foundOf(desk)
  const { parse, expected } = question.kind(found.facts)
  const hints = question.hints.map((hint, i) => `Hint ${i + 1} of ${question.hints.length}: ${hint}`)
  say(questionBlocks(question, found.facts, figuresOf(exercise, found)))
  if (state.clock && !state.clock.ended_at) say(clockText(state.clock, Number(exercise.clock_min)))
  // Nobody judges it, and the discussion should not depend on it.
  const isOptional = name === 'explain'
  const others = [...(hints.length > 0 ? ['"hint" helps'] : []), ...(isOptional ? ['"skip" leaves it out'] : [])]
  say(`(${expected}; ${[...others, '"quit" leaves'].join(', ')})`)
  for (const asked_ms = Date.now(); ; ) {
    const said = await desk.line(question, found)
    if (said === null || /^(quit|exit|q)$/i.test(said)) {
      throw new Stopped(by === 'student' ? null : 'the solution did not hold; on an idle machine, it may')
    }
    if (isOptional && /^skip$/i.test(said)) return
    const value = parse(said)
    if (value !== undefined) {
      const at = new Date().toISOString()
      state.answers.push({ question: name, said, value, by, at, took_ms: Date.now() - asked_ms })
      return
    }
    const noHint = `There are no ${question.hints.length > 0 ? 'more ' : ''}hints. To see the solution, leave and start again with --solution.`
    const isAsking = /^(hint|help|\?)$/i.test(said)
    say(isAsking ? (hints.shift() ?? noHint) : `Expected ${expected}, got ${JSON.stringify(said)}.`)
  }
}

/** @param {'predict' | 'expect'} name @param {Found} found @param {Desk} desk */
function judge(name, found, { exercise, state, say }) {
  const comparison = exercise[name]?.compare(found)
  if (comparison === null) say('Your guess is not judged: what was measured does not decide it.')
  if (!comparison) return
  state.comparisons[name] = comparison
  say(`Your guess: ${comparison.right ? 'right' : 'wrong'}. ${comparison.text}`)
}

/** All that is known so far. @param {Pick<Desk, 'state' | 'folder'>} desk @returns {Found} */
function foundOf({ state, folder }) {
  const answers = Object.fromEntries(state.answers.map(({ question, value }) => [question, value]))
  const records = new Results(folder).readTrials()
  return { facts: state.facts, trials: trialsByName(records), answers }
}
