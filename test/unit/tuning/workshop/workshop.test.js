import fs from 'node:fs'
import path from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { terminalOf } from '../../../../load/report/terminal.js'
import { main } from '../../../../load/run/shell.js'
import { reportOn } from '../../../../tuning/pages/report/report.js'
import * as VERBS from '../../../../tuning/verbs.js'
import { choice, number, pair, prose, setting } from '../../../../tuning/workshop/answers.js'
import { classBlocks, readClass } from '../../../../tuning/workshop/class.js'
import { createKeyboard } from '../../../../tuning/workshop/desk.js'
import { EXERCISES } from '../../../../tuning/workshop/exercises/index.js'
import { exerciseExperiment, trialsByName } from '../../../../tuning/workshop/experiment.js'
import {
  clockText,
  forget,
  keepState,
  newState,
  readProgress,
  writeProgress,
} from '../../../../tuning/workshop/progress.js'
import { temporaryFolder } from '../../../support/lab.js'
import { wholeRun } from '../../../support/made-up/run.js'
import { createShell } from '../../../support/shell.js'
import { LINUX, MADE, ONE_CORE } from './made.js'

t.test('answers as people type them', async (t) => {
  const letters = choice({ one: '1', two: '2' })
  const two = pair({ one: '1', two: '2', three: '3' })
  const free = prose(10, 20)()
  const rate = number('requests/s', 1, 5000)()
  const [wait, share] = [number('ms', 1, 600_000)(), number('% of the peak', 0, 200)()]
  const factor = number('times', 0.1, 100, { whole: false })()
  const knob = setting('POOL_MAX')()
  const hash = EXERCISES.find(({ id }) => id === 'hash')
  for (const [kind, said, value] of /** @type {[any, string, any][]} */ ([
    [letters, 'b', 'two'],
    [letters, 'B)', 'two'],
    [letters, 'two', 'two'],
    [letters, 'c', undefined],
    [letters, '', undefined],
    [two, 'c a', ['one', 'three']],
    [two, 'AC', ['one', 'three']],
    [two, 'three, one', ['one', 'three']],
    [two, 'a and b', ['one', 'two']],
    [two, 'A AND B', ['one', 'two']],
    [two, 'a', undefined],
    [two, 'a a', undefined],
    [two, 'abc', undefined],
    [two, 'a a b', undefined],
    [two, 'a d', undefined],
    [two, '', undefined],
    [free, 'too short', undefined],
    [free, 'long enough', 'long enough'],
    [free, 'x'.repeat(21), undefined],
    [hash?.turn.kind(LINUX), 'c', 'cores'],
    [hash?.turn.kind(ONE_CORE), 'c', 'none'],
    [hash?.turn.kind(ONE_CORE), 'cores', undefined],
    [rate, '2000', 2000],
    [rate, '2,000/s', 2000],
    [rate, '2000.5', undefined],
    [rate, '2.000', undefined],
    [rate, '2000 ms', undefined],
    [wait, '100 ms', 100],
    [wait, '1 s', undefined],
    [factor, '1.5x', 1.5],
    [share, '50 %', 50],
    [rate, '0', undefined],
    [rate, '9999', undefined],
    [rate, 'many', undefined],
    [knob, 'pool_max = 40', { name: 'POOL_MAX', level: 40 }],
    [knob, 'POOL_MAX=0', undefined],
    [knob, 'POOL_MIN=4', undefined],
    [knob, 'BATCH_SLOTS=4', undefined],
    [knob, '40', undefined],
  ])) {
    t.strictSame(kind.parse(said), value, said)
  }

  const [input, output] = [new PassThrough(), new PassThrough()]
  const keyboard = createKeyboard(/** @type {any} */ (input), /** @type {any} */ (output), new AbortController().signal)
  const awaited = keyboard.line()
  input.write('after the prompt \nbefore its prompt\n')
  t.equal(await awaited, 'after the prompt')
  t.equal(await keyboard.line(), 'before its prompt')
  input.end()
  t.equal(await keyboard.line(), null, 'nobody is there')
  output.end()
  t.equal(await text(output), '> after the prompt \n> before its prompt\n> \n')
})

t.test('each measurement once; an invalid one again, unless that is what is looked at', async (t) => {
  const [one, two] = ['one', 'two'].map((name) => ({
    name,
    cell: { POOL_MAX: 4 },
    countsAlways: false,
    load: /** @type {any} */ ({ warmup_s: 1, duration_s: 1 }),
  }))
  const next = (
    /** @type {any[]} */ measurements,
    /** @type {number} */ round,
    /** @type {any[]} */ records,
    notApplied = /** @type {any[]} */ ([]),
  ) => exerciseExperiment.design({ measurements, round }, records, notApplied)
  const record = (/** @type {string} */ measurement, round = 0, verdict = 'pass') =>
    /** @type {any} */ ({ at: { measurement, round }, outcome: { verdict } })
  const at = (/** @type {string} */ measurement, round = 0) => ({ at: { measurement, round } })
  t.match(next([one, two], 0, []), { ...at('one'), cell: { POOL_MAX: 4 }, about: 'one', left_s: 6 })
  t.match(next([one, two], 0, [record('one')]), at('two'))
  t.match(next([one], 1, [record('one')]), at('one', 1), 'a new round')
  t.match(next([one], 0, [record('one', 0, 'invalid')]), at('one'))
  t.equal(next([one], 0, [record('one', 0, 'invalid'), record('one', 0, 'invalid')]), null, 'but not for ever')
  const noisy = { ...record('one'), outcome: { verdict: 'invalid', blame: 'noise' } }
  t.equal(next([{ ...one, countsAlways: true }], 0, [noisy]), null)
  const invented = { ...noisy, outcome: { verdict: 'invalid', blame: 'rows' } }
  t.match(next([{ ...one, countsAlways: true }], 0, [invented]), at('one'), 'rows that are wrong')
  t.equal(next([one], 0, [], [{ cell: { POOL_MAX: 4 }, because: 'no' }]), null, 'nor what cannot be had')
  const records = [
    record('a', 0, 'invalid'),
    record('a'),
    record('b', 1),
    record('b', 2, 'fail'),
    record('c'),
    record('c', 0, 'fail'),
  ]
  const trials = trialsByName(records)
  t.equal(trials.a, records[1], 'the one that says something')
  t.equal(trials.b, records[3], 'the last round')
  t.equal(trials.c, records[4])
})

t.test("an exercise's folder is shown as its terminal was, however far it got", async (t) => {
  const { before, first } = MADE.little
  const recordsOf = (/** @type {any} */ trials) =>
    Object.entries(trials).map(([measurement, trial]) => ({ ...trial, at: { measurement, round: 0 } }))
  const shown = (/** @type {any[]} */ records) => {
    const plan = { exercise: 'little', facts: LINUX }
    const findings = exerciseExperiment.analyse(plan, records, { not_applied: [] })
    t.equal(findings.problem, null)
    return terminalOf(exerciseExperiment.report(findings))
  }
  t.match(shown([]), /^What was measured for the exercise "The database moves away"\.$/m)
  t.match(shown(recordsOf(before)), /\| peak /)
  t.match(shown(recordsOf({ ...before, ...first })), /\| as it is .*At its limit: pool-size: some evidence\.$/s)
})

t.test('the clock of an incident: running, stopped, over', async (t) => {
  const [began, ended] = ['2026-11-21T08:00:00.000Z', '2026-11-21T08:15:01.000Z']
  const now_ms = Date.parse(began) + 65_000
  t.equal(clockText({ began_at: began }, 15, now_ms), 'The clock: 1 min 5 s of 15 min.')
  t.match(clockText({ began_at: began }, 1, now_ms), /of 1 min; the time is up/)
  t.match(clockText({ began_at: began, ended_at: ended }, 16, now_ms), /^The incident took 15 min 1 s, of the 16 min/)
  t.match(
    clockText({ began_at: began, ended_at: ended }, 15, now_ms),
    /^The incident took 15 min 1 s, which is more than/,
  )
  t.match(clockText({ began_at: ended }, 15, now_ms), /: 0 min 0 s of/, 'a clock that was set back')
})

t.test('what is forgotten is ours alone, and no other folder is taken', async (t) => {
  const folder = temporaryFolder(t)
  const state = newState(LINUX)
  writeProgress(folder, { format: 'redline-workshop-1', exercises: { knee: state, files: state } })
  fs.mkdirSync(path.join(folder, '01-knee'))
  fs.writeFileSync(path.join(folder, 'notes.txt'), 'mine')
  fs.mkdirSync(path.join(folder, '02-loops'))
  t.strictSame(forget(folder, EXERCISES.slice(0, 2)), ['knee'])
  t.strictSame(
    Object.keys(readProgress(folder).exercises),
    ['files'],
    'trials of an exercise that is not begun are gone, too',
  )
  t.strictSame(fs.readdirSync(folder).sort(), ['notes.txt', 'progress.json'])
  fs.writeFileSync(path.join(folder, 'progress.json'), '{"format":"another"}')
  t.throws(() => readProgress(folder), /^.*--out: expected the folder of a workshop/)
  const run = temporaryFolder(t)
  fs.writeFileSync(path.join(run, 'run.json'), '{}')
  t.throws(() => readProgress(run), /expected a new or empty folder, got .* which holds run\.json/)
})

t.test('two terminals keep what the other one solves', async (t) => {
  const folder = temporaryFolder(t)
  writeProgress(folder, { format: 'redline-workshop-1', exercises: { knee: newState(LINUX), loops: newState(LINUX) } })
  const [one, other] = [readProgress(folder), readProgress(folder)]
  keepState(folder, 'loops', { ...one.exercises.loops, stage: 'done' })
  keepState(folder, 'knee', { ...other.exercises.knee, stage: 'turn' })
  const { knee, loops } = readProgress(folder).exercises
  t.strictSame([knee.stage, loops.stage], ['turn', 'done'])
})

t.test('--list, --reset, and flags that are wrong', async (t) => {
  const folder = path.join(temporaryFolder(t), 'class')
  const run = (/** @type {string[]} */ ...args) => said(VERBS, ['workshop', ...args, '--out', folder])
  t.match(await run('--list'), { status: 0, stdout: /1\. Where does it bend\? .* not begun/ })
  t.equal(JSON.parse((await run('--list', '--json')).stdout).exercises.length, EXERCISES.length)
  t.match(await run('--reset'), { status: 0, stdout: /No exercise was begun/ })
  t.notOk(fs.existsSync(folder), 'a look leaves nothing behind')
  writeProgress(folder, { format: 'redline-workshop-1', exercises: { files: { ...newState(LINUX), stage: 'turn' } } })
  t.match(await run('--list'), { stdout: /Files and sockets .* begun \|/ })
  const gone = await run('--exercise', '6')
  t.equal(gone.status, 2)
  t.match(
    gone.stderr,
    /06-files: expected the measurements of the exercise, got none; .*--exercise 6 .*--reset forgets/,
  )
  t.match(await run('--reset', '--exercise', '6'), { status: 0, stdout: /Forgotten: files/ })
  for (const [args, message] of /** @type {[string[], RegExp][]} */ ([
    [['--exercise', '13'], /--exercise: expected a whole number from 1 to 12, got "13"/],
    [['--list', '--reset'], /--reset: cannot be combined with --list/],
    [['--list', '--exercise', '2'], /--exercise: cannot be combined with --list/],
    [['--hint'], /expected a flag of this verb, got --hint/],
  ])) {
    const { status, stdout, stderr } = await run(...args)
    t.strictSame({ status, stdout }, { status: 2, stdout: '' }, args.join(' '))
    t.match(stderr, message)
  }
})

t.test('a class in one table: capacities, guesses, tries; names from outside open no column', async (t) => {
  const folder = temporaryFolder(t)
  const state = {
    ...newState(LINUX),
    stage: /** @type {const} */ ('done'),
    round: 3,
    outcomes: [
      { solved: false, because: '' },
      { solved: true, because: '' },
    ],
  }
  const answers = [
    { question: 'predict', said: '4000', value: 4000, by: /** @type {const} */ ('student'), at: '', took_ms: 1 },
  ]
  const both = [...answers, { ...answers[0], question: 'expect' }]
  const comparisons = { predict: { right: true, text: '' }, expect: { right: false, text: '' } }
  writeProgress(path.join(folder, 'ada', 'workshop'), {
    format: 'redline-workshop-1',
    exercises: { knee: { ...state, answers: both, comparisons } },
  })
  const sweep = path.join(folder, 'ada', '20261121T080000Z-sweep')
  fs.mkdirSync(sweep)
  const machine = { cpu_model: 'Some CPU', cores: 2 }
  fs.writeFileSync(
    path.join(sweep, 'run.json'),
    JSON.stringify(wholeRun({ machine, versions: {}, capacity: { low_rps: 5000, high_rps: 5500 } })),
  )
  const interrupted = path.join(folder, 'ada', '20261121T090000Z-sweep')
  fs.mkdirSync(interrupted)
  const capacity = { low_rps: 1000, high_rps: 9000 }
  const cut = wholeRun({ machine, versions: {}, capacity, answer: 'none', interrupted: true })
  fs.writeFileSync(path.join(interrupted, 'run.json'), JSON.stringify(cut))
  writeProgress(path.join(folder, 'eve | x'), { format: 'redline-workshop-1', exercises: { knee: newState(LINUX) } })
  const unjudged = { ...state, answers: both, comparisons: { expect: { right: true, text: '' } } }
  writeProgress(path.join(folder, 'bea'), { format: 'redline-workshop-1', exercises: { knee: unjudged } })
  fs.mkdirSync(path.join(folder, 'cut', 'workshop'), { recursive: true })
  fs.writeFileSync(path.join(folder, 'cut', 'workshop', 'progress.json'), '{"format":"redl')
  const odd = { format: 'redline-workshop-1', exercises: { knee: { stage: 'done' } } }
  writeProgress(path.join(folder, 'odd', 'workshop'), /** @type {any} */ (odd))
  fs.mkdirSync(path.join(folder, 'nothing'))
  fs.cpSync(path.join(folder, 'bea'), path.join(folder, 'ned', 'results'), { recursive: true })
  const clock = { began_at: '2026-11-21T08:00:00.000Z', ended_at: '2026-11-21T08:06:10.000Z' }
  const explained = [
    { ...answers[0], question: 'limits', said: 'd e', value: ['pool-size', 'postgres-cpu'] },
    { ...answers[0], question: 'explain', said: 'a lock | behind the pool', value: 'a lock | behind the pool' },
  ]
  writeProgress(path.join(folder, 'ivy'), {
    format: 'redline-workshop-1',
    exercises: { incident: { ...state, answers: explained, clock } },
  })
  const kim = path.join(folder, 'kim', 'workshop')
  writeProgress(kim, { format: 'redline-workshop-1', exercises: { knee: { ...state, answers } } })
  fs.mkdirSync(path.join(kim, '01-knee'))
  fs.writeFileSync(
    path.join(kim, '01-knee', 'run.json'),
    JSON.stringify(wholeRun({ verb: 'workshop', machine, versions: {} })),
  )
  const text = terminalOf(classBlocks(readClass(folder)), 200)
  t.match(text, /\| kim +\| Some CPU, 2 cores \| +– \| +\? 2 \|/, 'who only played, and whose guess was not judged')
  t.match(text, /\| ivy +\| +– \| +– \| +– \| 2 \(6 min 10 s\) \|/, 'an incident has no prediction, but a clock')
  t.match(text, /\| The incident +\| +0 of 1 \| pool-size 1x, postgres-cpu 1x \|/, 'its first try counts')
  t.match(text, /\| ivy +\| The incident \| a lock {3}behind the pool \|/)
  t.match(text, /^Students: 9\./m)
  t.match(text, /\| ned +\| +– \| +– \| +\? \+ 2 \|/, 'whose folder was copied as a whole')
  t.match(text, /\| nothing \(nothing was found\) +\| +– \| +– \| +– \|/)
  t.match(text, /\| bea +\| +– \| +– \| +\? \+ 2 \|/, 'a prediction that was not judged')
  t.match(text, /\| cut \(progress\.json cannot be read\) +\| +– \| +– \| +– \|/)
  t.match(text, /\| odd \(progress\.json cannot be read\) +\| +– \| +– \| +– \|/, 'of another shape')
  t.match(text, /\| ada +\| +Some CPU, 2 cores \| 5,000 to 5,500\/s \| \+ - 2 \|/)
  t.match(text, /\| eve {3}x +\| +– \| +– \| +open \|/)
  t.match(text, /\| Where does it bend\? \| +1 of 1 \| +4,000 to 4,000, median 4,000 \|/)
  t.throws(
    () => readClass(path.join(folder, 'nothing')),
    /--class: expected a results folder or a hand-in \(\.json\) of each student/,
  )

  const report = (/** @type {string[]} */ ...args) => {
    return said({ report: reportOn({}) }, ['report', '--class', folder, ...args])
  }
  t.match(await report(), { status: 0, stdout: /Students: 9.*ada.*eve/s })
  t.match(await report('results'), { status: 2, stderr: /--class: cannot be combined with a folder, got results/ })
  const out = path.join(temporaryFolder(t), 'class')
  t.match(await report('--out', out), { status: 0 })
  t.match(fs.readFileSync(path.join(out, 'report.html'), 'utf8'), />ada</)
})

t.test('a hand-in is one file, and a class of such files is the same table', async (t) => {
  const folder = temporaryFolder(t)
  const results = path.join(folder, 'results')
  const out = path.join(results, 'workshop')
  const run = (/** @type {string[]} */ ...args) => said(VERBS, ['workshop', ...args, '--out', out])
  const file = path.join(folder, 'class', 'ada.json')
  fs.mkdirSync(path.dirname(file))
  t.match(await run('--hand-in', file), {
    status: 2,
    stderr: /--hand-in: expected an exercise that was begun in .*, got/,
  })
  t.notOk(fs.existsSync(file))

  const answers = [
    { question: 'predict', said: '4000', value: 4000, by: /** @type {const} */ ('student'), at: '', took_ms: 1 },
  ]
  const knee = { ...newState(LINUX), answers, comparisons: { predict: { right: true, text: '' } } }
  writeProgress(out, { format: 'redline-workshop-1', exercises: { knee } })
  const sweep = path.join(results, '20261121T080000Z-sweep')
  fs.mkdirSync(sweep)
  const machine = { cpu_model: 'Some CPU', cores: 2 }
  fs.writeFileSync(
    path.join(sweep, 'run.json'),
    JSON.stringify(wholeRun({ machine, versions: {}, capacity: { low_rps: 5000, high_rps: 5500 } })),
  )
  t.match(await run('--hand-in', file), { status: 0, stdout: /ada\.json: 1 exercise/ })
  t.match(await run('--hand-in', file), { status: 0 }, 'again, after another exercise')

  const table = () => terminalOf(classBlocks(readClass(path.dirname(file))), 200)
  t.match(table(), /\| ada +\| Some CPU, 2 cores \| 5,000 to 5,500\/s \| \+ open \|/)
  fs.cpSync(results, path.join(folder, 'class', 'bea'), { recursive: true })
  t.match(table(), /\| ada .*\n\| bea +\| Some CPU, 2 cores \| 5,000 to 5,500\/s \| \+ open \|/, 'beside folders')

  const others = {
    'cut.json': '{"format":"redl',
    'other.json': '{"format":"other"}',
    'null.json': 'null',
    'state.json': '{"format":"redline-hand-in-1","name":"x","machine":"m","capacities":[],"exercises":{"knee":5}}',
    'rates.json': JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), capacities: [7] }),
    'nothing.json': JSON.stringify({ ...JSON.parse(fs.readFileSync(file, 'utf8')), exercises: {} }),
  }
  for (const [name, text] of Object.entries(others)) fs.writeFileSync(path.join(folder, 'class', name), text)
  fs.writeFileSync(path.join(folder, 'class', 'notes.txt'), 'nobody')
  for (const name of Object.keys(others)) {
    t.match(table(), new RegExp(`\\| ${name.replace('.json', '')} \\(${name} cannot be read\\) +\\|`))
  }
  t.match(table(), /^Students: 8\./m)

  const mine = path.join(folder, 'mine.json')
  fs.writeFileSync(mine, '{}')
  t.match(await run('--hand-in', mine), { status: 2, stderr: /--hand-in: expected a new file, .*, got .*mine\.json/ })
  t.equal(fs.readFileSync(mine, 'utf8'), '{}')
  t.match(await run('--hand-in', path.join(folder, 'ada')), {
    status: 2,
    stderr: /expected a name that ends in \.json/,
  })
  t.match(await run('--hand-in', path.join(folder, 'no', 'ada.json')), {
    status: 2,
    stderr: /--hand-in: .*no such file/,
  })
  t.match(await run('--hand-in', mine, '--list'), { status: 2, stderr: /cannot be combined/ })
})

/** @param {Parameters<typeof main>[0]} verbs @param {string[]} argv */
async function said(verbs, argv) {
  const shell = createShell()
  const status = await main(verbs, argv, shell)
  return { status, ...shell.said }
}
