import fs from 'node:fs'
import t from 'tap'
import { markdownOf } from '../../../../load/report/markdown.js'
import { terminalOf } from '../../../../load/report/terminal.js'
import { KNOBS } from '../../../../tuning/knobs/knobs.js'
import { evidenceOf } from '../../../../tuning/workshop/evidence.js'
import { figuresOf, questionBlocks } from '../../../../tuning/workshop/exercise.js'
import { EXERCISES } from '../../../../tuning/workshop/exercises/index.js'
import { dosedTrial, LINUX, MADE, ONE_CORE } from './made.js'

for (const exercise of EXERCISES) {
  const { id, before, predict, limits, first, turn, expect, explain } = exercise
  const made = MADE[id]

  for (const [machine, facts] of Object.entries({ LINUX, ONE_CORE })) {
    t.test(`${id}, ${machine}: a right guess, what solves it and what does not`, async (t) => {
      const found = { facts, trials: { ...made.before }, answers: /** @type {any} */ ({}) }
      const answer = (/** @type {string} */ name, /** @type {string} */ said) => {
        const question = exercise[/** @type {'turn'} */ (name)]
        t.notMatch(
          markdownOf(questionBlocks(question, facts, figuresOf(exercise, found)).slice(0, 1)),
          /…|NaN|undefined/,
          'no figure is missing',
        )
        found.answers[name] = question.kind(facts).parse(said)
        t.not(found.answers[name], undefined, `${name}: "${said}" is understood`)
      }
      t.strictSame([before(facts).name], Object.keys(made.before))
      t.notMatch(exercise.remark(facts) ?? '', /[{}]/, 'nor in what is different here')
      if (predict) answer('predict', predict.solution(found))
      refusesNothing(t, facts, [before(facts), ...first(found)])
      t.strictSame(
        first(found).map(({ name }) => name),
        Object.keys(made.first),
      )
      Object.assign(found.trials, made.first)
      const guess = predict?.compare(found)
      if (predict && facts.pinned) t.ok(guess?.right, `the guess: ${guess?.text}`)
      if (predict?.wrong) {
        const wrong = { ...found, answers: { predict: predict.kind(facts).parse(predict.wrong) } }
        t.equal(predict.compare(wrong)?.right, false, 'the wrong guess is wrong')
      }
      for (const [said, trials, solved] of /** @type {const} */ ([
        [turn.wrong, made.fails, false],
        [turn.solution(found), made.solves, true],
      ])) {
        if (limits) answer('limits', solved ? limits.solution(found) : String(limits.wrong))
        answer('turn', String(said))
        if (expect) answer('expect', expect.solution(found))
        const asked = exercise.again(found)
        refusesNothing(t, facts, asked)
        t.ok(
          asked.length > 0 && asked.every(({ name }) => name in trials),
          'what is measured again is what was made up',
        )
        const after = { ...found, trials: { ...found.trials, ...trials } }
        t.match(expect?.compare(after) ?? { text: 'none' }, { text: String })
        t.match(exercise.outcome(after), { solved, because: /\w/ })
        const shown = terminalOf(evidenceOf(exercise, after), 100)
        t.notMatch(shown, /NaN|undefined/)
        t.ok(
          shown.split('\n').every((line) => line.length <= 100),
          'fits a terminal',
        )
      }
      if (explain) answer('explain', explain.solution(found))
    })
  }

  t.test(`${id}: hints in steps, but none in an incident`, async (t) => {
    const isIncident = exercise.clock_min !== undefined
    const asked = [predict, limits, turn, expect, explain].flatMap((question) => question ?? [])
    for (const { hints } of asked) t.equal(hints.length > 0, !isIncident)
    if (!isIncident) for (const question of [predict, turn]) t.ok(Number(question?.hints.length) >= 2)
  })
}

/** What this machine cannot do is not asked of it. @param {any} t @param {any} facts @param {any[]} measurements */
function refusesNothing(t, facts, measurements) {
  const wrong = measurements.flatMap(({ name, cell, load }) => {
    const { loop, rate_rps, duration_s, connections } = load
    const isRate = loop === 'closed' ? rate_rps === null : Number.isInteger(rate_rps) && rate_rps > 0
    const needed = { NOFILE: facts.limits, GENERATOR: facts.vegeta, CORES: facts.pinned }
    return [
      ...(duration_s > 0 && connections > 0 ? [] : [`${name}: no load`]),
      ...(isRate ? [] : [`${name}: ${loop} loop at ${rate_rps}/s`]),
      ...Object.entries(needed).flatMap(([knob, isThere]) => (!isThere && knob in cell ? [`${name}: ${knob}`] : [])),
      ...Object.entries(cell).flatMap(([knob, level]) =>
        knob in KNOBS && KNOBS[knob].parse(String(level)) === undefined ? [`${name}: ${knob}=${level}`] : [],
      ),
    ]
  })
  t.strictSame(wrong, [])
}

t.test('at least eight, each once, and all but the first say what they need', async (t) => {
  t.ok(EXERCISES.length >= 8)
  t.equal(new Set(EXERCISES.map(({ id }) => id)).size, EXERCISES.length)
  t.equal(EXERCISES[0].needs, '')
  for (const { needs, symptoms, discussion } of EXERCISES.slice(1)) {
    t.match(needs, /\w/)
    t.ok(symptoms.length > 0 && discussion.length > 0)
  }
  const teacher = fs.readFileSync('tuning/workshop/TEACHER.md', 'utf8')
  for (const { title } of EXERCISES) t.match(teacher, title)
})

t.test('at the knee, a guess is answered with the rates up to which the promise was kept', async (t) => {
  const { before, first } = MADE.knee
  const knee = EXERCISES.find(({ id }) => id === 'knee')
  const textWith = (/** @type {any} */ trials) => {
    const found = /** @type {any} */ ({ facts: LINUX, trials: { ...before, ...trials }, answers: { predict: 770 } })
    return knee?.predict?.compare(found)?.text
  }
  t.equal(textWith(first), 'You said 770/s. The promise was kept up to a rate between 900 and 1,200/s.')
  const all = (/** @type {string} */ verdict) =>
    Object.fromEntries(
      Object.entries(first).map(([name, record]) => [
        name,
        { .../** @type {any} */ (record), outcome: { verdict, because: '' } },
      ]),
    )
  t.equal(textWith(all('pass')), 'You said 770/s. The promise was kept up to at least 2,000/s.')
  t.equal(textWith(all('fail')), 'You said 770/s. The promise was broken already at 300/s.')
  t.equal(textWith(all('invalid')), 'You said 770/s. No rate could be judged.')
})

t.test('the stand-in for vegeta is not solved by a few more connections, which still hold requests back', async (t) => {
  const { first, solves } = MADE.liar
  const withRate = (/** @type {any} */ record, /** @type {number} */ goodput_rps) => ({
    ...record,
    load: { ...record.load, rate_rps: 1000 },
    traffic: { ...record.traffic, success_ratio: 1, goodput_rps },
  })
  const trials = { 'as told': withRate(first['as told'], 300), again: withRate(solves.again, 600) }
  const solved = (/** @type {object} */ facts) => {
    return EXERCISES.find(({ id }) => id === 'liar')?.outcome(/** @type {any} */ ({ facts, trials, answers: {} }))
      .solved
  }
  t.notOk(solved(ONE_CORE))
  t.ok(solved(LINUX), 'vegeta loses what it does not send')
})

t.test('where slowing Postgres shows nothing, the answer is that of a bottleneck', async (t) => {
  const solution = (/** @type {any} */ doses) => {
    const found = /** @type {any} */ ({ facts: ONE_CORE, trials: { doses }, answers: {} })
    return Number(EXERCISES.find(({ id }) => id === 'messenger')?.expect?.solution(found))
  }
  t.equal(solution(dosedTrial(0)), 2)
  const half = solution(dosedTrial(0.5))
  t.ok(half > 1.3 && half < 1.5, `${half}: what was measured`)
})

t.test('where no dose was taken, the line below the table says so', async (t) => {
  const { before, first } = MADE.messenger
  const trials = { ...before, ...first, doses: { ...first.doses, doses: [] } }
  const found = /** @type {any} */ ({ facts: LINUX, trials, answers: {} })
  const shown = terminalOf(evidenceOf(EXERCISES[10], found), 100)
  t.notMatch(shown, /null/)
  t.match(shown, /"doses": No program was slowed long enough to show an effect\.$/)
})

t.test('a note names its measurement: below the result, it is not about the new setting', async (t) => {
  const { before, first, fails } = MADE.files
  const trials = { ...before, ...first, ...fails }
  const found = /** @type {any} */ ({ facts: LINUX, trials, answers: { turn: 150 } })
  const shown = terminalOf(evidenceOf(EXERCISES[5], found), 100)
  t.match(shown, /\| again .*^"as it is": Without a response: none\.\n\n"as it is": At its limit: nofile/ms)
})

t.test('where a process has no limit of files, the answer is that of connections', async (t) => {
  const trials = MADE.files.before
  const found = /** @type {any} */ ({ facts: ONE_CORE, trials, answers: { turn: 200 } })
  const [step] = EXERCISES.find(({ id }) => id === 'files')?.again(found) ?? []
  t.equal(step?.cell?.MAX_CONNECTIONS, 200)
})

t.test('the answer key has an answer to each question, and it is the solution that is played', async (t) => {
  for (const { id, key, predict, limits, turn, expect, explain } of EXERCISES) {
    const questions = Object.entries({ predict, limits, turn, expect, explain })
    const asked = [...questions.flatMap(([name, question]) => (question ? [name] : [])), 'tempting']
    t.strictSame(Object.keys(key), asked, id)
    const missing = [predict, limits, turn].flatMap((question, i) => {
      if (!question?.kind(LINUX).choices) return []
      const answer = key[/** @type {const} */ (['predict', 'limits', 'turn'])[i]]
      const found = /** @type {any} */ ({ facts: LINUX, trials: {}, answers: {} })
      const right = question.solution(found).split(' ')
      const tempting = String(question.wrong).split(' ')
      return [
        ...right.filter((word) => !answer.includes(`\`${word}\``)),
        ...tempting.filter((word) => !/=/.test(word) && !right.includes(word) && !key.tempting.includes(`\`${word}\``)),
      ]
    })
    t.strictSame(missing, [], `${id}: each is in the key`)
  }
})

t.test(
  'an incident is solved by two needed changes and the two limits that they lift, and by nothing less',
  async (t) => {
    const incident = EXERCISES.find(({ id }) => id === 'incident')
    const { before, first, solves } = MADE.incident
    const judge = (/** @type {any} */ trials, /** @type {string[]} */ limits) => {
      const found = /** @type {any} */ ({ facts: LINUX, answers: { limits, turn: ['pool', 'audit'] } })
      return incident?.outcome({ ...found, trials: { ...before, ...first, ...trials } })
    }
    const right = ['pool-size', 'postgres-lock']
    const { 'pool + audit': passing, 'only pool': failing } = solves
    t.match(judge(solves, right), { solved: true })
    t.match(judge(solves, ['api-cpu', 'pool-size']), { solved: false, because: /you named api-cpu/ })
    t.match(judge({ ...solves, 'pool + audit': failing }, right), { solved: false, because: /^with both changes, p99/ })
    t.match(judge({ ...solves, 'only audit': passing }, right), { solved: false, because: /"audit" alone keeps/ })
  },
)
