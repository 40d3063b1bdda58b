import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { holdFolder, refuseUnwritable } from '../../../../load/run/folder.js'
import { Results, resumeRun } from '../../../../load/run/results.js'
import { caught } from '../../../support/caught.js'
import { temporaryFolder } from '../../../support/lab.js'
import { wholeRun, wholeTrial } from '../../../support/made-up/run.js'
import { fixture, reportOf } from '../../../support/pages.js'

const WHOLE = wholeRun({ run_id: 'id' })
const RUN = JSON.stringify(WHOLE)
const TRIAL = wholeTrial(1)

t.test('what is written can be read again', async (t) => {
  const results = Results.create(`${t.testdir()}/run`, 'id')
  t.strictSame(results.readTrials(), [], 'before its first trial')
  results.writeRun(WHOLE)
  const trials = [1, 2].map(wholeTrial)
  for (const trial of trials) results.appendTrial(trial)
  t.strictSame(results.readRun(), WHOLE)
  t.strictSame(results.readTrials(), trials)
})

t.test('a damaged run.json or trial is refused by name, whatever JSON it holds', async (t) => {
  for (const [text, found] of [
    ['null', 'null'],
    ['7', 'a number'],
    ['"text"', 'a string'],
    ['[]', 'a list'],
  ]) {
    const folder = t.testdir({
      damaged: { 'run.json': `${text}\n` },
      run: { 'run.json': RUN, 'trials.ndjson': `${text}\n` },
    })
    const ofRun = caught(() => new Results(`${folder}/damaged`).readRun())
    const ofTrials = caught(() => new Results(`${folder}/run`).readTrials())
    t.type(ofRun, UsageError, text)
    t.match(ofRun.message, /^expected a run of Redline in .*, got a run\.json of something else$/, text)
    t.type(ofTrials, UsageError, text)
    const place = `${folder}/run/trials.ndjson, line 1`
    t.equal(
      ofTrials.message,
      `expected an object in ${place}, got ${found}: restore that line, or remove it, and --resume measures its trial again`,
    )
  }
})

t.test('an error on writing names the file, and says what to do about a full disk', async (t) => {
  const results = Results.create(`${t.testdir()}/run`, 'id')
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const fails = () => {
    throw full
  }
  t.intercept(fs, 'appendFileSync', { value: fails })
  t.intercept(fs, 'renameSync', { value: fails })
  const todo = 'could not be written: make room there, then go on with --resume; the system said: ENOSPC: no space left'
  for (const [name, write] of /** @type {[string, () => void][]} */ ([
    ['trials.ndjson', () => results.appendTrial(/** @type {any} */ (TRIAL))],
    ['run.json', () => results.writeRun(WHOLE)],
  ])) {
    const error = caught(write)
    t.equal(error.code, 'ENOSPC')
    t.equal(error.message, `${results.folder}/${name} ${todo} on device, write`)
  }
})

t.test('a run that could not begin on a full disk leaves its folder free', async (t) => {
  const out = `${t.testdir()}/run`
  const restore = t.intercept(fs, 'writeSync', {
    value: () => {
      throw Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
    },
  })
  t.equal(
    caught(() => Results.create(out, 'id')).message,
    '--out: expected a folder that can be written, got ENOSPC: no space left on device, write',
  )
  restore.restore()
  t.notOk(fs.existsSync(out))
  fs.mkdirSync(out)
  fs.writeFileSync(`${out}/run.json`, '')
  t.equal(Results.create(out, 'id').folder, out, 'nor does what older versions left keep it')
})

t.test('a run.json that lacks a field, or has one of another type, is refused in one line', async (t) => {
  for (const [field, value, expected, found] of /** @type {[string, any, string, string][]} */ ([
    ['plan', 1, 'an object as plan', 'a number'],
    ['plan', [], 'an object as plan', 'a list'],
    ['plan', { ...WHOLE.plan, slo: undefined }, 'an object as plan.slo', 'none'],
    ['plan', { ...WHOLE.plan, mix: null }, 'an object as plan.mix', 'null'],
    ['argv', undefined, 'a list as argv', 'none'],
    ['run_id', 7, 'a string as run_id', 'a number'],
    ['started_at', undefined, 'a string as started_at', 'none'],
    ['machine', true, 'an object as machine', 'a boolean'],
    ['warnings', 'one', 'a list as warnings', 'a string'],
  ])) {
    const folder = t.testdir({ 'run.json': JSON.stringify({ ...WHOLE, [field]: value }) })
    for (const read of [() => new Results(folder).readRun(), () => resumeRun({ name: 'sweep' }, folder)]) {
      const error = caught(read)
      t.type(error, UsageError)
      const place = `${folder}/run.json`
      t.equal(error.message, `expected ${expected} in ${place}, got ${found}: restore the file, or begin a new run`)
    }
  }
  const rows = t.testdir({ 'run.json': JSON.stringify({ ...WHOLE, plan: { blocks: 3 }, rows: [] }) })
  t.strictSame(new Results(rows).readRun().plan, { blocks: 3 }, 'a verb without trials has a plan of its own')
})

t.test('a trial that lacks a field, or belongs to another run, is refused with its file and line', async (t) => {
  const { traffic, ...bare } = TRIAL
  for (const [record, expected, found] of /** @type {[any, string, string][]} */ ([
    [bare, 'an object as traffic', 'none'],
    [{ ...TRIAL, at: null }, 'an object as at', 'null'],
    [{ ...TRIAL, outcome: {} }, 'a string as outcome.verdict', 'none'],
    [{ ...TRIAL, load: 7 }, 'an object as load', 'a number'],
    [{ ...TRIAL, probes: undefined }, 'an object as probes', 'none'],
    [{ ...TRIAL, run_id: 'another' }, 'a trial of sweep in id', 'one of sweep in another'],
    [{ ...TRIAL, experiment: 'tune' }, 'a trial of sweep in id', 'one of tune in id'],
  ])) {
    const lines = [JSON.stringify(TRIAL), '', JSON.stringify(record), '']
    const folder = t.testdir({ 'run.json': RUN, 'trials.ndjson': lines.join('\n') })
    const error = caught(() => new Results(folder).readTrials())
    t.type(error, UsageError)
    const place = `${folder}/trials.ndjson, line 3`
    t.equal(
      error.message,
      `expected ${expected} in ${place}, got ${found}: restore that line, or remove it, and --resume measures its trial again`,
    )
  }
})

t.test(
  'a finished run with fewer trials than its run.json counts is refused; one that is not finished is read',
  async (t) => {
    const finished_at = '2026-01-01T00:10:00.000Z'
    const lines = [1, 2].map((trial) => `${JSON.stringify(wholeTrial(trial))}\n`).join('')
    for (const [changes, trials, expected] of /** @type {[object, string | null, string | null][]} */ ([
      [{ finished_at, capacity: { trials: 3 } }, lines, '3 trials or more in %, as run.json counts them, got 2'],
      [{ finished_at, capacity: { trials: 3 } }, null, '3 trials or more in %, as run.json counts them, got 0'],
      [{ finished_at, capacity: null }, null, '1 trial or more in %, as run.json counts them, got 0'],
      [
        { finished_at, interrupted: true, capacity: { trials: 3 } },
        lines,
        '3 trials or more in %, as run.json counts them, got 2',
      ],
      [{ finished_at, capacity: { trials: 2 } }, lines, null],
      [{ finished_at, capacity: null, problem: 'the run broke off' }, null, null],
      [{ finished_at, interrupted: true }, null, null],
      [{ finished_at: null, capacity: null }, null, null],
      [{ finished_at, rows: [] }, null, null],
    ])) {
      const run = JSON.stringify(wholeRun(changes))
      const folder = t.testdir({ 'run.json': run, ...(trials && { 'trials.ndjson': trials }) })
      const read = () => new Results(folder).readAllTrials()
      if (!expected) {
        t.equal(read().length, trials ? 2 : 0, run)
        continue
      }
      const message = expected.replace('%', `${folder}/trials.ndjson`)
      t.equal(caught(read).message, `expected ${message}: restore the file, or begin a new run`)
    }
  },
)

t.test('a trial that is there twice is refused: it would count as two', async (t) => {
  const lines = [1, 2, 1].map((trial) => `${JSON.stringify(wholeTrial(trial))}\n`)
  const folder = t.testdir({ 'run.json': RUN, 'trials.ndjson': lines.join('') })
  const error = caught(() => new Results(folder).readTrials())
  t.type(error, UsageError)
  t.match(
    error.message,
    /^expected each trial once in .*trials\.ndjson, line 3, got trial 1 again: restore that line, or /,
  )
})

t.test('a file in the place of a folder is refused, and left as it is', async (t) => {
  const file = path.join(t.testdir({ notes: 'mine' }), 'notes')
  const error = caught(() => Results.create(file, 'id'))
  t.type(error, UsageError)
  t.equal(error.message, `--out: expected a folder, got the file ${file}`)
  t.equal(fs.readFileSync(file, 'utf8'), 'mine')
})

t.test('a folder that holds a run is never written over', async (t) => {
  const folder = t.testdir({ 'run.json': '{}' })
  t.type(
    caught(() => Results.create(folder, 'id')),
    UsageError,
  )
})

t.test('a run that never began leaves its folder as free as it was', async (t) => {
  const folder = `${t.testdir()}/run`
  Results.create(folder, 'id').releaseUnused()
  t.notOk(fs.existsSync(folder))
  const begun = Results.create(folder, 'id')
  begun.writeRun({ plan: {} })
  begun.releaseUnused()
  t.ok(fs.existsSync(`${folder}/run.json`))
})

t.test('what is not JSON is refused with its place', async (t) => {
  const folder = t.testdir({ 'run.json': '{"plan"', 'trials.ndjson': `${JSON.stringify(TRIAL)}\nnonsense\n` })
  const results = new Results(folder)
  t.match(
    caught(() => results.readRun()),
    { message: `expected JSON in ${folder}/run.json, got something else: restore the file, or begin a new run` },
  )
  fs.writeFileSync(`${folder}/run.json`, RUN)
  t.match(
    caught(() => results.readTrials()),
    {
      message: `expected JSON in ${folder}/trials.ndjson, line 2, got something else: restore that line, or remove it, and --resume measures its trial again`,
    },
  )
})

t.test('a file that is empty or binary is refused without printing it', async (t) => {
  const messageOf = (/** @type {string} */ text) => {
    const folder = t.testdir({ 'run.json': text })
    return caught(() => new Results(folder).readRun()).message.replace(folder, 'run')
  }
  t.equal(messageOf(''), 'expected a run in run, but it ended before its first trial')
  const binary = '\u0000\u001b[2J{'
  t.equal(messageOf(binary), 'expected JSON in run/run.json, got something else: restore the file, or begin a new run')
})

t.test('a folder that cannot be locked is refused as not writable', async (t) => {
  const { message } = caught(() => holdFolder(fs.realpathSync('/proc/self'), '--resume'))
  t.match(
    message,
    /^--resume: expected a folder that can be written, got \/proc\/\d+ \(E[A-Z]+\): copy the run to one$/,
  )
  t.equal(
    caught(() => refuseUnwritable('/no/such', 'report', '--out DIR writes elsewhere')).message,
    'report: expected a folder that can be written, got /no/such (ENOENT): --out DIR writes elsewhere',
  )
})

t.test('a folder that cannot be written is refused', async (t) => {
  const folder = t.testdir({ file: '' })
  t.type(
    caught(() => Results.create(`${folder}/file/run`, 'id')),
    UsageError,
  )
})

t.test('a folder that the system refuses as not found is an error, and not tried for ever', async (t) => {
  for (const folder of ['/proc/redline', '/proc/redline/run']) {
    const error = caught(() => Results.create(folder, 'id'))
    t.type(error, UsageError, folder)
    t.match(error.message, /^--out: expected a folder that can be written, got E[A-Z]+: /, folder)
  }
})

t.test('a folder with a run is refused, with --resume only for a run that has trials', async (t) => {
  const folder = t.testdir({
    trials: { 'run.json': RUN },
    rows: { 'run.json': JSON.stringify({ ...WHOLE, verb: 'simulate', plan: {}, rows: [] }) },
    app: { 'run.json': '{"name":"app"}' },
    unplanned: { 'run.json': '{"verb":"sweep"}' },
    damaged: { 'run.json': '{"plan"' },
  })
  for (const [name, next] of [
    ['trials', `--resume ${folder}/trials goes on with it`],
    ['rows', 'give another one'],
    ['app', 'give another one'],
    ['unplanned', 'give another one'],
    ['damaged', 'give another one'],
  ]) {
    const out = `${folder}/${name}`
    const { message } = caught(() => Results.create(out, 'id'))
    t.equal(message, `--out: expected a folder without a run, got ${out}; ${next}`)
  }
})

t.test('resuming drops a line that was cut off while it was written, and goes on behind it', async (t) => {
  const folder = t.testdir({ 'run.json': RUN, 'trials.ndjson': '{"trial":1}\n{"trial":2,"tra' })
  const results = Results.resume(folder)
  results.appendTrial(/** @type {any} */ ({ trial: 2 }))
  t.equal(fs.readFileSync(`${folder}/trials.ndjson`, 'utf8'), '{"trial":1}\n{"trial":2}\n')
})

t.test('resuming a folder without a run is refused', async (t) => {
  t.type(
    caught(() => Results.resume(t.testdir())),
    UsageError,
  )
})

t.test('the folder of a run that was killed before its first trial is free again', async (t) => {
  const folder = t.testdir({
    killed: { 'run.json': '{}\n', 'api.log': 'x', 'lock-1-nobody': '' },
    kept: { 'run.json': '{"plan":{}}' },
  })
  t.ok(Results.create(path.join(folder, 'killed'), 'id'))
  const names = fs.readdirSync(path.join(folder, 'killed')).sort()
  t.equal(names.length, 2)
  t.match(names[0], /^lock-/)
  t.equal(names[1], 'run.json')
  t.match(caught(() => Results.create(path.join(folder, 'kept'), 'id')).message, /expected a folder without a run/)
  t.strictSame(fs.readdirSync(path.join(folder, 'kept')), ['run.json'], 'which is left as it is')
})

t.test('a folder that holds anything is refused, whoever leads there, and left as it is', async (t) => {
  const folder = t.testdir({
    mine: { 'report.md': 'mine', 'a.txt': 'mine' },
    link: t.fixture('symlink', 'mine'),
    empty: {},
  })
  for (const name of ['mine', 'link']) {
    const error = caught(() => Results.create(path.join(folder, name), 'id'))
    t.type(error, UsageError)
    t.match(error.message, /^--out: expected a new or empty folder, got .*, which holds a.txt, report.md$/)
  }
  t.strictSame(fs.readdirSync(path.join(folder, 'mine')).sort(), ['a.txt', 'report.md'])
  t.ok(Results.create(path.join(folder, 'empty'), 'id'))
  const run = fixture('ramp', temporaryFolder(t))
  const report = await reportOf(run, '--out', path.join(folder, 'mine'))
  t.match(report, { code: 2, stderr: /--out: expected a new or empty folder/ })
  t.equal(fs.readFileSync(path.join(folder, 'mine', 'report.md'), 'utf8'), 'mine')
})

t.test('what a link in a results folder leads to is not written to', async (t) => {
  const folder = t.testdir({
    mine: 'mine',
    run: { 'run.json': RUN, 'trials.ndjson': t.fixture('symlink', '../mine') },
    other: { 'run.json': RUN, 'report.md': t.fixture('symlink', '../mine') },
  })
  t.match(
    caught(() => Results.resume(path.join(folder, 'run'))),
    {
      message: /^--resume: expected a run's own files in .*, got the symbolic link trials.ndjson$/,
    },
  )
  new Results(path.join(folder, 'other')).writeText('report.md', 'ours')
  t.equal(fs.readFileSync(path.join(folder, 'mine'), 'utf8'), 'mine')
  t.equal(fs.readFileSync(path.join(folder, 'other', 'report.md'), 'utf8'), 'ours')
})

t.test('a run.json of something else is no run, and its folder is left as it is', async (t) => {
  const folder = t.testdir({ 'run.json': '{"plan":1}', 'trials.ndjson': 'half a line' })
  t.match(
    caught(() => Results.resume(folder)),
    { message: /got a run.json of something else/ },
  )
  t.equal(fs.readFileSync(`${folder}/trials.ndjson`, 'utf8'), 'half a line')
})

t.test('a file that cannot be written leaves no temporary one', async (t) => {
  const folder = t.testdir({ 'report.html': { 'a-file': '' } })
  caught(() => new Results(folder).writeText('report.html', 'text'))
  t.strictSame(fs.readdirSync(folder), ['report.html'])
})

t.test('folders held and released one after the other add one listener to the process', async (t) => {
  // Other tests of this process hold folders.
  const fresh = new URL('../../../../load/run/folder.js?fresh', import.meta.url).href
  const before = process.listenerCount('exit')
  const { holdFolder, releaseFolder } = await import(fresh)
  for (let i = 0; i < 3; i++) {
    const folder = t.testdir()
    holdFolder(folder, '--out')
    t.equal(fs.readdirSync(folder).length, 1)
    releaseFolder(folder)
    t.strictSame(fs.readdirSync(folder), [])
  }
  t.equal(process.listenerCount('exit'), before + 1)
})
