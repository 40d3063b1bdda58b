import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../load/flags.js'
import { Results } from '../../../load/results.js'
import { caught } from '../../support/caught.js'
import { readRun, readTrials, runVerb, startLab, temporaryFolder } from '../../support/lab.js'
import { created, httpServer } from '../../support/servers.js'

const RUN = '{"run_id":"id","verb":"sweep","plan":{}}'

t.test('what is written can be read again', async (t) => {
  const results = Results.create(`${t.testdir()}/run`, 'id')
  results.writeRun({ run_id: 'id', verb: 'sweep', plan: {} })
  results.appendTrial(/** @type {any} */ ({ trial: 1 }))
  results.appendTrial(/** @type {any} */ ({ trial: 2 }))
  t.strictSame(results.readRun(), { run_id: 'id', verb: 'sweep', plan: {} })
  t.strictSame(results.readTrials(), [{ trial: 1 }, { trial: 2 }])
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
  const folder = t.testdir({ 'run.json': '{"plan"', 'trials.ndjson': '{"trial":1}\nnonsense\n' })
  const results = new Results(folder)
  t.match(
    caught(() => results.readRun()),
    { message: /^run.json: expected JSON/ },
  )
  t.match(
    caught(() => results.readTrials()),
    { message: /^trials.ndjson, line 2: expected JSON/ },
  )
})

t.test('a folder that cannot be written is refused', async (t) => {
  const folder = t.testdir({ file: '' })
  t.type(
    caught(() => Results.create(`${folder}/file/run`, 'id')),
    UsageError,
  )
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
  const run = path.resolve('test/fixtures/runs/ramp')
  const report = await runVerb('report', [run, '--out', path.join(folder, 'mine')])
  t.match(report, { status: 2, stderr: /--out: expected a new or empty folder/ })
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
  new Results(path.join(folder, 'other')).writeReport('ours')
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

/** A process that does something with results folders, says how it went, and lives on. @param {any} t @param {string} program */
function another(t, program) {
  const code = `import { Results } from './load/results.js'
process.stdin.once('data', () => {
  try { ${program}; console.log('done') } catch (error) { console.log(error.message) }
})
setTimeout(() => {}, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return {
    child,
    go: async () => {
      child.stdin.write('go\n')
      return String((await once(child.stdout, 'data'))[0]).trim()
    },
    end: async () => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

t.test('a folder in use is refused, and free again as soon as its process has ended, whatever ended it', async (t) => {
  const folder = t.testdir({ run: { 'run.json': RUN } })
  const out = path.join(folder, 'new')
  const resume = (/** @type {string} */ name) =>
    another(t, `Results.resume(${JSON.stringify(path.join(folder, name))})`)
  const [begins, resumes, second] = [
    another(t, `Results.create(${JSON.stringify(out)}, 'id')`),
    resume('run'),
    resume('run'),
  ]
  t.equal(await begins.go(), 'done')
  fs.writeFileSync(path.join(out, 'run.json'), RUN)
  t.equal(
    caught(() => Results.resume(out)).message,
    `--resume: expected a folder that no run is using, got ${out}, which process ${begins.child.pid} is writing to: wait for it, or stop it`,
  )
  t.equal(await resumes.go(), 'done')
  t.match(await second.go(), `which process ${resumes.child.pid} is writing to`)
  await Promise.all([begins.end(), resumes.end()])
  t.equal(fs.readdirSync(out).length, 2, 'a kill -9 leaves the lock')
  t.ok(Results.resume(out))
  t.strictSame(
    fs.readdirSync(out).filter((name) => name.startsWith(`lock-${begins.child.pid}-`)),
    [],
    'which goes with the next run',
  )
})

t.test('of several that resume at the same moment, one gets the folder', async (t) => {
  for (let round = 0; round < 3; round++) {
    const folder = t.testdir({ [`run${round}`]: { 'run.json': RUN } })
    const resume = `Results.resume(${JSON.stringify(path.join(folder, `run${round}`))})`
    const all = Array.from({ length: 4 }, () => another(t, resume))
    const said = await Promise.all(all.map(({ go }) => go()))
    t.equal(said.filter((one) => one === 'done').length, 1, said.join('; '))
    await Promise.all(all.map(({ end }) => end()))
  }
})

t.test('a lock of a process whose id another one has by now does not count', async (t) => {
  const folder = t.testdir({ 'run.json': RUN, [`lock-${process.ppid}-1`]: '' })
  t.ok(Results.resume(folder))
  t.notOk(fs.existsSync(path.join(folder, `lock-${process.ppid}-1`)))
})

t.test('--resume of a run that is not over is refused, and the run goes on; its lock goes with it', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const url = await httpServer(t, created)
  const flags = ['--rates', '20,30', '--duration', '500ms', '--warmup', '100ms', '--slo-p99', '5s']
  const lab = startLab(['sweep', '--url', url, ...flags, '--out', out])
  await lab.stderrHas('trial 1:')
  t.match(await startLab(['sweep', '--resume', out]).ended, {
    code: 2,
    stderr: new RegExp(`--resume: expected a folder that no run is using, got .*process ${lab.child.pid} is writing`),
  })
  t.match(await lab.ended, { code: 0 })
  t.equal(readTrials(out).length, 2)
  t.equal(readRun(out).interrupted, false)
  t.strictSame(
    fs.readdirSync(out).filter((name) => name.startsWith('lock')),
    [],
  )
})
