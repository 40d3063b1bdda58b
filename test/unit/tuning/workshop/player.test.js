import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { OtherConditions } from '../../../../load/command/errors.js'
import { terminalOf } from '../../../../load/report/terminal.js'
import { EXERCISES } from '../../../../tuning/workshop/exercises/index.js'
import { play, Stopped } from '../../../../tuning/workshop/player.js'
import { newState } from '../../../../tuning/workshop/progress.js'
import { temporaryFolder } from '../../../support/lab.js'
import { wholeRun, wholeTrial } from '../../../support/made-up/run.js'
import { LINUX, MADE } from './made.js'

/**
 * A desk with a student who types these lines, and with what was measured before the first knob was turned.
 * @param {import('tap').Test} t @param {string} id @param {{ stage: string, lost?: string[] }} was
 */
function deskOf(t, id, { stage, lost = [] }) {
  const exercise = /** @type {any} */ (EXERCISES.find((one) => one.id === id))
  const folder = temporaryFolder(t)
  const trials = Object.entries({ ...MADE[id].before, ...MADE[id].first }).filter(([name]) => !lost.includes(name))
  const { run_id, verb, ...run } = wholeRun({ verb: 'workshop' })
  fs.writeFileSync(path.join(folder, 'run.json'), JSON.stringify({ run_id, verb, ...run }))
  const records = trials.map(([measurement, trial], i) => {
    return { ...wholeTrial(i + 1), run_id, experiment: verb, ...trial, at: { measurement, round: 0 } }
  })
  fs.writeFileSync(path.join(folder, 'trials.ndjson'), records.map((one) => `${JSON.stringify(one)}\n`).join(''))
  const state = /** @type {ReturnType<typeof newState>} */ ({ ...newState(LINUX), stage: /** @type {any} */ (stage) })
  /** @param {string[]} lines */
  async function plays(...lines) {
    /** @type {string[]} */
    const said = []
    const say = (/** @type {any} */ what) => void said.push(typeof what === 'string' ? what : terminalOf(what, 1000))
    const desk = {
      exercise,
      state,
      folder,
      say,
      head: say,
      save() {},
      by: 'student',
      line: async () => lines.shift() ?? null,
    }
    const error = await play(/** @type {any} */ (desk)).catch((error) => error)
    return { error, said: said.join('\n') }
  }
  return { exercise, state, plays }
}

t.test('a student who leaves between two questions is asked the second one next', async (t) => {
  const { exercise, state, plays } = deskOf(t, 'little', { stage: 'turn' })
  const { turn } = exercise
  const [turnText, expectText] = [turn, exercise.expect].map(({ text }) => text.replace(/\{.*/s, ''))
  const first = await plays(turn.wrong, 'quit')
  t.ok(first.error instanceof Stopped)
  t.equal(first.error.problem, null)
  t.ok(first.said.includes(turnText))
  const second = await plays('quit')
  t.notOk(second.said.includes(turnText), 'not what is answered already')
  t.ok(second.said.includes(expectText))
  t.strictSame(
    state.answers.map(({ question }) => question),
    ['turn'],
  )
  t.equal(state.round, 0)
})

t.test('answers without their measurements: the exercise says that they are gone', async (t) => {
  for (const stage of ['turn', 'explain', 'done']) {
    const { plays } = deskOf(t, 'incident', { stage, lost: ['last week', 'today'] })
    const { error } = await plays('quit')
    t.ok(error instanceof OtherConditions, `${stage}: ${error?.message}`)
    t.match(error.because, /expected the measurements of the exercise, got none$/)
  }
  const { error } = await deskOf(t, 'loops', { stage: 'turn', lost: ['open'] }).plays('16', 'quit')
  t.match(error.because, /expected the measurements of the exercise, got closed$/)
  const { plays } = deskOf(t, 'little', { stage: 'predict', lost: ['as it is'] })
  t.ok((await plays('quit')).error instanceof Stopped, 'none of the first evidence is needed yet')
})

t.test('the text for the class may be left out', async (t) => {
  const { exercise, state, plays } = deskOf(t, 'incident', { stage: 'explain' })
  const { error, said } = await plays('too short', 'skip')
  t.equal(error, undefined)
  t.match(said, /Expected a text of .* got "too short"/)
  t.match(said, /"skip" leaves it out/)
  t.ok(said.includes(exercise.discussion[0]), 'the discussion follows')
  t.strictSame([state.stage, state.answers], ['done', []])

  const asked = await deskOf(t, 'little', { stage: 'turn' }).plays('skip')
  t.match(asked.said, /got "skip"/, 'no other question can be skipped')
  t.notMatch(asked.said, /leaves it out/)
})
