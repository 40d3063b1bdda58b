import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { terminalText } from '../../../load/report/terminal.js'
import { pages } from '../../../tuning/docs.js'
import { KNOBS } from '../../../tuning/knobs.js'
import { classReport, readClass } from '../../../tuning/workshop/class.js'
import { choice, filled, number, setting } from '../../../tuning/workshop/exercise.js'
import { EXERCISES } from '../../../tuning/workshop/exercises/index.js'
import { nextStep } from '../../../tuning/workshop/measure.js'
import { pageName } from '../../../tuning/workshop/pages.js'
import { folderOf, forget, newState, readProgress, writeProgress } from '../../../tuning/workshop/progress.js'
import { playThrough } from '../../../tuning/workshop/script.js'
import { trialsByName } from '../../../tuning/workshop/trials.js'
import { processesOf, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const LINUX = { pinned: true, cores: 2, limits: true, vegeta: true }
const ONE_CORE = { pinned: false, cores: 1, limits: false, vegeta: false }

/** A trial with the figures that somebody reads; the rest is as it is on an idle machine. @param {any} made */
function trial({
  goodput = 1000,
  p99 = 20,
  success = 1,
  verdict = 'pass',
  blame,
  resource,
  runner_up = null,
  rate = 1000,
  api,
}) {
  return /** @type {any} */ ({
    experiment: 'x#0',
    load: { loop: 'open', driver: 'paced', rate_rps: rate, connections: 64, warmup_s: 1, duration_s: 3 },
    traffic: {
      planned: 3000,
      ok: Math.round(3000 * success),
      goodput_rps: goodput,
      success_ratio: success,
      latency_ms: { p50: p99 / 4, p99 },
      ok_latency_ms: { p50: p99 / 4, p99 },
      queued_ms: { mean: 1 },
      status: { 201: Math.round(3000 * success) },
      errors: {},
    },
    probes: {
      api: {
        cpu_core_ratio: 0.3,
        statement_mean_ms: 8,
        pool_used_mean: 8,
        pool_waiting_mean: 0,
        statements: 300,
        ...api,
      },
      postgres: { cpu_core_ratio: 0.2 },
      generator: { cpu_core_ratio: 0.2, lateness_ms: { p99: 1 } },
    },
    outcome: { verdict, because: `p99 ${p99} ms`, ...(blame && { blame }) },
    limit: {
      resource: resource ?? (verdict === 'pass' ? 'none-reached' : 'pool-size'),
      evidence: ['some evidence'],
      runner_up,
      runner_up_evidence: [],
    },
  })
}

const fail = (/** @type {any} */ made) => trial({ verdict: 'fail', ...made })

/**
 * What an exercise measures, made up: before and at first, then what solves it and what does not.
 *
 * @type {Record<string, { before: any, first: any, solves: any, fails: any }>}
 */
const MADE = {
  knee: {
    before: { peak: trial({ goodput: 1000 }) },
    first: {
      '0.3 x': trial({ rate: 300 }),
      '0.6 x': trial({ rate: 600 }),
      '0.9 x': trial({ rate: 900 }),
      '1.2 x': fail({ rate: 1200, p99: 700 }),
      '2 x': fail({ rate: 2000, p99: 2000 }),
    },
    solves: { promise: trial({ rate: 630 }), 'once more': trial({ rate: 630 }) },
    fails: { promise: trial({ rate: 1800 }), 'once more': fail({ rate: 1800, p99: 900 }) },
  },
  loops: {
    before: { closed: trial({ goodput: 500, p99: 20 }) },
    first: { open: fail({ goodput: 500, p99: 2000, rate: 750 }) },
    solves: { again: fail({ goodput: 490, p99: 1900 }) },
    fails: { again: trial({ goodput: 500, p99: 32 }) },
  },
  liar: {
    before: { peak: trial({ goodput: 10_000 }) },
    first: { 'as told': trial({ goodput: 1000, rate: 7000, p99: 9000, verdict: 'invalid', blame: 'generator' }) },
    solves: { again: trial({ goodput: 6900, rate: 7000 }) },
    fails: { again: trial({ goodput: 900, rate: 7000, p99: 9000 }) },
  },
  little: {
    before: { peak: trial({ goodput: 500 }) },
    first: { 'as it is': fail({ goodput: 500, rate: 1000, p99: 1000 }) },
    solves: { again: trial({ goodput: 1000, rate: 1000 }) },
    fails: { again: fail({ goodput: 600, rate: 1000, p99: 900 }) },
  },
  timeout: {
    before: { peak: trial({ goodput: 500 }) },
    first: { '500 ms': fail({ goodput: 500, success: 0.6, p99: 520 }), '30 s': fail({ goodput: 510, p99: 3000 }) },
    solves: { again: trial({ goodput: 1000 }) },
    fails: { again: fail({ goodput: 500, p99: 3000 }) },
  },
  files: {
    before: { peak: trial({ goodput: 10_000 }) },
    first: { 'as it is': fail({ success: 0.14, resource: 'nofile' }) },
    solves: { again: trial({ api: { open_files: 226 } }) },
    fails: { again: fail({ success: 0.4, resource: 'nofile' }) },
  },
  batching: {
    before: { peak: trial({ goodput: 3000 }) },
    first: { 'as it is': fail({ goodput: 3000, p99: 2000, resource: 'postgres-cpu', runner_up: 'pool-size' }) },
    solves: { again: trial({ goodput: 6000 }), top: trial({ goodput: 12_000 }) },
    fails: { again: fail({ goodput: 3100, p99: 2000 }), top: trial({ goodput: 3200 }) },
  },
  overload: {
    before: { peak: trial({ goodput: 500 }) },
    first: { 'no limit': fail({ goodput: 490, p99: 3000 }) },
    solves: { again: fail({ goodput: 460, p99: 170, success: 0.46 }) },
    fails: { again: fail({ goodput: 490, p99: 3000 }) },
  },
  hash: {
    before: { one: trial({ goodput: 8, p99: 150 }) },
    first: { many: fail({ goodput: 8.2, p99: 1000 }) },
    solves: {
      cores: fail({ goodput: 15, p99: 600 }),
      pool: fail({ goodput: 8, p99: 1000 }),
      threads: fail({ goodput: 8, p99: 1000 }),
    },
    fails: { pool: fail({ goodput: 8.1, p99: 1000 }) },
  },
  neighbour: {
    before: { alone: trial({ goodput: 10_000 }) },
    first: { beside: trial({ goodput: 5600 }) },
    solves: { nice: trial({ goodput: 9500 }) },
    fails: { pool: trial({ goodput: 5500 }) },
  },
}

for (const exercise of EXERCISES) {
  const { id, before, predict, first, turn, expect } = exercise
  const made = MADE[id]

  for (const [machine, facts] of Object.entries({ LINUX, ONE_CORE })) {
    t.test(`${id}, ${machine}: a right guess, what solves it and what does not`, async (t) => {
      const found = { facts, trials: { ...made.before }, answers: /** @type {any} */ ({}) }
      const answer = (/** @type {string} */ name, /** @type {string} */ said) => {
        const { kind, text, figures } = exercise[/** @type {'predict'} */ (name)]
        t.notMatch(filled(text, figures?.(found) ?? {}), /…|NaN|undefined/)
        found.answers[name] = kind.parse(said, facts)
        t.not(found.answers[name], undefined, `${name}: "${said}" is understood`)
      }
      t.strictSame(
        before(facts).map(({ name }) => name),
        Object.keys(made.before),
      )
      answer('predict', predict.solution(found))
      refusesNothing(t, facts, [...before(facts), ...first(found)])
      t.strictSame(
        first(found).map(({ name }) => name),
        Object.keys(made.first),
      )
      Object.assign(found.trials, made.first)
      const guess = exercise.compare(found)
      if (facts.pinned) t.ok(guess.right, `the guess: ${guess.text}`)
      if (predict.wrong) {
        const wrong = { ...found, answers: { predict: predict.kind.parse(predict.wrong(found), facts) } }
        t.notOk(exercise.compare(wrong).right, 'the wrong guess is wrong')
      }
      for (const [said, trials, solved] of /** @type {const} */ ([
        [turn.wrong?.(found), made.fails, false],
        [turn.solution(found), made.solves, true],
      ])) {
        answer('turn', String(said))
        if (expect) answer('expect', expect.solution(found))
        const asked = exercise.again(found)
        refusesNothing(t, facts, asked)
        t.ok(
          asked.length > 0 && asked.every(({ name }) => name in trials),
          'what is measured again is what was made up',
        )
        const after = { ...found, trials: { ...found.trials, ...trials } }
        t.match(exercise.compareExpected?.(after) ?? { text: 'none' }, { text: String })
        t.match(exercise.outcome(after), { solved, because: /\w/ })
        const shown = terminalText(exercise.evidence(after), 100)
        t.notMatch(shown, /NaN|undefined/)
        t.ok(
          shown.split('\n').every((line) => line.length <= 100),
          'fits a terminal',
        )
      }
    })
  }

  t.test(`${id}: hints in steps, and a page`, async (t) => {
    for (const question of [predict, turn]) t.ok(question.hints.length >= 2)
    for (const question of expect ? [expect] : []) t.ok(question.hints.length >= 1)
    const file = path.resolve('tuning/workshop/pages', pageName(exercise, EXERCISES.indexOf(exercise) + 1))
    t.equal(fs.readFileSync(file, 'utf8'), pages()[file])
  })
}

/** What this machine cannot do is not asked of it. @param {any} t @param {any} facts @param {any[]} measurements */
function refusesNothing(t, facts, measurements) {
  for (const { levels, load } of measurements) {
    t.ok(load.duration_s > 0 && load.connections > 0)
    t.ok(load.loop === 'closed' ? load.rate_rps === null : Number.isInteger(load.rate_rps) && load.rate_rps > 0)
    if (!facts.limits) t.notOk('NOFILE' in levels)
    if (!facts.vegeta) t.notOk('GENERATOR' in levels)
    if (!facts.pinned) t.notOk('CORES' in levels)
    for (const [name, level] of Object.entries(levels))
      if (name in KNOBS) t.ok(KNOBS[name].accepts(level), `${name}=${level}`)
  }
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

t.test('answers as people type them', async (t) => {
  const letters = choice({ one: '1', two: '2' }, { only: (value, { pinned }) => value !== 'one' || pinned })
  const rate = number('requests/s', 1, 5000)
  const knob = setting({ POOL_MAX: KNOBS.POOL_MAX })
  for (const [kind, said, facts, value] of /** @type {[any, string, any, any][]} */ ([
    [letters, 'b', LINUX, 'two'],
    [letters, 'B)', LINUX, 'two'],
    [letters, 'two', LINUX, 'two'],
    [letters, 'c', LINUX, undefined],
    [letters, '', LINUX, undefined],
    [letters, 'a', ONE_CORE, 'two'],
    [letters, 'b', ONE_CORE, undefined],
    [rate, '2000', LINUX, 2000],
    [rate, '2,000/s', LINUX, 2000],
    [rate, '2000.5', LINUX, undefined],
    [rate, '0', LINUX, undefined],
    [rate, '9999', LINUX, undefined],
    [rate, 'many', LINUX, undefined],
    [knob, 'pool_max = 40', LINUX, { name: 'POOL_MAX', level: '40' }],
    [knob, 'POOL_MAX=0', LINUX, undefined],
    [knob, 'POOL_MIN=4', LINUX, undefined],
    [knob, '40', LINUX, undefined],
  ])) {
    t.strictSame(kind.parse(said, facts), value, said)
  }
})

t.test('each measurement once; an invalid one again, unless that is what is looked at', async (t) => {
  const [one, two] = ['one', 'two'].map((name) => ({
    name,
    levels: { POOL_MAX: '4' },
    countsAlways: false,
    load: /** @type {any} */ ({ warmup_s: 1, duration_s: 1 }),
  }))
  const record = (/** @type {string} */ experiment, verdict = 'pass') =>
    /** @type {any} */ ({ experiment, outcome: { verdict } })
  t.match(nextStep([one, two], 0, [], []), { experiment: 'one#0', cell: 'POOL_MAX=4', about: 'one' })
  t.match(nextStep([one, two], 0, [record('one#0')], []), { experiment: 'two#0' })
  t.match(nextStep([one], 1, [record('one#0')], []), { experiment: 'one#1' }, 'a new round')
  t.match(nextStep([one], 0, [record('one#0', 'invalid')], []), { experiment: 'one#0' })
  t.equal(nextStep([one], 0, [record('one#0', 'invalid'), record('one#0', 'invalid')], []), null, 'but not for ever')
  const noisy = { ...record('one#0'), outcome: { verdict: 'invalid', blame: 'noise' } }
  t.equal(nextStep([{ ...one, countsAlways: true }], 0, [noisy], []), null)
  const invented = { ...noisy, outcome: { verdict: 'invalid', blame: 'rows' } }
  t.match(nextStep([{ ...one, countsAlways: true }], 0, [invented], []), { experiment: 'one#0' }, 'rows that are wrong')
  t.equal(nextStep([one], 0, [], [{ cell: 'POOL_MAX=4', because: 'no' }]), null, 'nor what cannot be had')
  const records = [
    record('a#0', 'invalid'),
    record('a#0'),
    record('b#1'),
    record('b#2', 'fail'),
    record('c#0'),
    record('c#0', 'fail'),
  ]
  const trials = trialsByName(records)
  t.equal(trials.a, records[1], 'the one that says something')
  t.equal(trials.b, records[3], 'the last round')
  t.equal(trials.c, records[4])
})

t.test('what is forgotten is ours alone, and no other folder is taken', async (t) => {
  const folder = temporaryFolder(t)
  const state = newState(LINUX)
  writeProgress(folder, { format: 'redline-workshop-1', exercises: { knee: state, files: state } })
  fs.mkdirSync(folderOf(folder, 'knee'))
  fs.writeFileSync(path.join(folder, 'notes.txt'), 'mine')
  t.strictSame(forget(folder, ['knee', 'loops']), ['knee'])
  t.strictSame(Object.keys(readProgress(folder).exercises), ['files'])
  t.strictSame(fs.readdirSync(folder).sort(), ['notes.txt', 'progress.json'])
  fs.writeFileSync(path.join(folder, 'progress.json'), '{"format":"another"}')
  t.throws(() => readProgress(folder), /^.*--out: expected the folder of a workshop/)
  const run = temporaryFolder(t)
  fs.writeFileSync(path.join(run, 'run.json'), '{}')
  t.throws(() => readProgress(run), /expected a new or empty folder, got .* which holds run\.json/)
})

t.test('a class in one table: capacities, guesses, tries; names from outside open no column', async (t) => {
  const folder = temporaryFolder(t)
  const state = {
    ...newState(LINUX),
    stage: /** @type {const} */ ('done'),
    round: 2,
    solved_at: new Date().toISOString(),
  }
  const answers = [
    { question: 'predict', said: '4000', value: 4000, by: /** @type {const} */ ('student'), at: '', took_ms: 1 },
  ]
  const comparisons = { predict: { right: true, text: '' }, expect: { right: false, text: '' } }
  writeProgress(path.join(folder, 'ada', 'workshop'), {
    format: 'redline-workshop-1',
    exercises: { knee: { ...state, answers, comparisons } },
  })
  const sweep = path.join(folder, 'ada', '20261121T080000Z-sweep')
  fs.mkdirSync(sweep)
  const machine = { cpu_model: 'Some CPU', cores: 2 }
  fs.writeFileSync(
    path.join(sweep, 'run.json'),
    JSON.stringify({ verb: 'sweep', plan: {}, machine, capacity: { low_rps: 5000, high_rps: 5500 } }),
  )
  writeProgress(path.join(folder, 'eve | x'), { format: 'redline-workshop-1', exercises: { knee: newState(LINUX) } })
  fs.mkdirSync(path.join(folder, 'nothing'))
  const text = classReport(readClass(folder))
  t.match(text, /^2 students/m)
  t.match(text, /\| ada +\| +Some CPU, 2 cores \| 5,000 to 5,500\/s \| +– \| \+ - 2 \|/)
  t.match(text, /\| eve {3}x +\| +– \| +– \| +– \| +open \|/)
  t.match(text, /\| Where does it bend\? \| +1 of 1 \| 4,000 to 4,000, median 4,000 \| 1 of 2 \| +2 \| +0 min \|/)
  t.throws(() => readClass(path.join(folder, 'nothing')), /--class: expected a results folder for each student/)

  const report = (/** @type {string[]} */ ...args) => {
    return spawnSync(process.execPath, ['tuning/cli.js', 'report', '--class', folder, ...args], { encoding: 'utf8' })
  }
  t.match(report(), { status: 0, stdout: /2 students.*ada.*eve/s })
  t.match(report('results'), { status: 2, stderr: /--class: cannot be combined with a folder, got results/ })
  const out = path.join(temporaryFolder(t), 'class')
  t.match(report('--out', out), { status: 0 })
  t.match(fs.readFileSync(path.join(out, 'report.html'), 'utf8'), />ada</)
})

const PROGRAM = ['tuning/cli.js', 'workshop']

t.test('--list, --reset, and flags that are wrong', async (t) => {
  const folder = path.join(temporaryFolder(t), 'class')
  const run = (/** @type {string[]} */ ...args) =>
    spawnSync(process.execPath, [...PROGRAM, ...args, '--out', folder], { encoding: 'utf8' })
  t.match(run('--list'), { status: 0, stdout: /1\. Where does it bend\? .* not begun/ })
  t.equal(JSON.parse(run('--list', '--json').stdout).exercises.length, EXERCISES.length)
  t.match(run('--reset'), { status: 0, stdout: /Nothing was begun/ })
  t.notOk(fs.existsSync(folder), 'a look leaves nothing behind')
  writeProgress(folder, { format: 'redline-workshop-1', exercises: { files: { ...newState(LINUX), stage: 'turn' } } })
  t.match(run('--list'), { stdout: /Files and sockets .* begun: a knob is next/ })
  t.match(run('--reset', '--exercise', '6'), { status: 0, stdout: /Forgotten: files/ })
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [['--exercise', '11'], /--exercise: expected a whole number from 1 to 10, got "11"/],
    [['--list', '--reset'], /--reset: cannot be combined with --list/],
    [['--list', '--exercise', '2'], /--exercise: cannot be combined with --list/],
    [['--hint'], /Unknown option '--hint'/],
  ])) {
    t.match(run(...args), { status: 2, stdout: '', stderr: message })
  }
})

t.test('an exercise from end to end: cut off, left, resumed, answered wrongly, solved', async (t) => {
  const embedded = await newDatabase(t)
  const folder = path.join(temporaryFolder(t), 'class')
  const env = { ...process.env, DATABASE_URL: embedded.url }
  const begin = () =>
    spawn(process.execPath, [...PROGRAM, '--exercise', '6', '--out', folder], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
    })
  const stage = () => readProgress(folder).exercises.files?.stage

  const cut = begin()
  for await (const chunk of cut.stdout) if (String(chunk).includes('First, what this machine takes')) cut.kill('SIGINT')
  t.equal(cut.exitCode ?? (await once(cut, 'exit'))[0], 130, 'Ctrl-C while it measures')
  t.equal(stage(), 'before')

  const closed = begin()
  closed.stdin.end()
  const [said] = await Promise.all([closed.stdout.toArray(), once(closed, 'exit')])
  t.match(Buffer.concat(said).toString(), /Kept\. npm run workshop -- --exercise 6 --out \S+ goes on here/)
  t.equal(closed.exitCode, 0, 'nobody is there')
  t.equal(stage(), 'predict')

  const { codes, transcript, state } = await playThrough(6, { folder, env })
  t.strictSame(codes, [0, 0], 'left in the middle, and played to its end')
  t.match(
    transcript,
    /Expected a letter from a to d, got "".*Expected a letter from a to d, got "banana".*Hint 1 of 2/s,
  )
  t.match(transcript, /Your guess: not so\. At its limit: (nofile|max-connections)/)
  t.match(transcript, /You were here before: begun: a knob is next/)
  t.match(transcript, /Not solved: \d.*Solved: 100 % succeeded/s)
  t.ok(
    transcript.split('\n').every((line) => line.length <= 100),
    `fits a terminal: ${transcript.split('\n').filter((line) => line.length > 100)}`,
  )
  t.equal(state.stage, 'done')
  t.equal(state.round, 2)
  t.match(state.answers[0], { question: 'predict', said: 'b', by: 'student', at: /Z$/ })
  t.match(state.outcomes, [{ solved: false }, { solved: true }])

  const again = spawnSync(process.execPath, [...PROGRAM, '--exercise', '6', '--out', folder, '--json'], {
    env,
    encoding: 'utf8',
  })
  t.equal(JSON.parse(again.stdout).exercises[5].state.stage, 'done', 'what is solved is not measured again')
  const page = spawnSync(process.execPath, ['tuning/cli.js', 'report', folderOf(folder, 'files')], { encoding: 'utf8' })
  t.match(page, { status: 0, stdout: /What was measured for the exercise "Files and sockets", in \d trials/ })
  t.strictSame(processesOf(folder), [])
})
