import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { UsageError } from '../../../load/command/errors.js'
import { beginRun, Results } from '../../../load/run/results.js'
import { runExperiment } from '../../../load/run/runner.js'
import { main } from '../../../load/run/shell.js'
import { caught } from '../../support/caught.js'
import { runHere } from '../../support/in-process.js'
import { readRun, readTrials, startLab, temporaryFolder } from '../../support/lab.js'
import { wholeRun } from '../../support/made-up/run.js'
import { created, httpServer } from '../../support/servers.js'
import { createShell } from '../../support/shell.js'
import { firstLine } from '../../support/until.js'

const RUN = JSON.stringify(wholeRun())

/**
 * Another process that runs `program` for each line it gets, prints `done` or the error, and stays alive: a lock on a results folder
 * belongs to a process.
 * @param {any} t @param {string} program source text; it reads the line as `word`
 */
function another(t, program) {
  const code = `import { Results } from './load/run/results.js'
process.stdin.on('data', (chunk) => {
  const word = String(chunk).trim()
  try { ${program}; console.log('done') } catch (error) { console.log(error.message) }
})
setTimeout(() => {}, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return {
    child,
    go: async (word = 'go') => {
      child.stdin.write(`${word}\n`)
      return firstLine('what came of it', child.stdout)
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
  const folder = t.testdir({ first: { 'run.json': RUN }, second: { 'run.json': RUN } })
  const all = Array.from({ length: 4 }, () => another(t, `Results.resume(${JSON.stringify(folder)} + '/' + word)`))
  for (const name of ['first', 'second']) {
    const said = await Promise.all(all.map(({ go }) => go(name)))
    t.equal(said.filter((one) => one === 'done').length, 1, said.join('; '))
  }
  await Promise.all(all.map(({ end }) => end()))
})

t.test('a verb without trials keeps each row as soon as it is measured', async (t) => {
  const { results, run } = beginRun('made-up', { argv: [], out: path.join(t.testdir(), 'run'), plan: {} })
  /** @type {unknown[]} */
  const kept = []
  const keep = () => kept.push(results.readRun().rows)
  const experiment = /** @type {any} */ ({
    async *measure() {
      yield 'first'
      keep()
      yield 'second'
      keep()
    },
    analyse: () => ({ problem: null }),
    report: () => [],
  })
  const io = /** @type {any} */ ({ signal: new AbortController().signal, lab: { writeReport: async () => {} } })
  await runExperiment({ experiment, run, plan: {}, results }, io)
  t.strictSame(kept, [['first'], ['first', 'second']])
})

t.test('a lock of a process whose id another one has by now does not count', async (t) => {
  const folder = t.testdir({ 'run.json': RUN, [`lock-${process.ppid}-1`]: '' })
  t.ok(Results.resume(folder))
  t.notOk(fs.existsSync(path.join(folder, `lock-${process.ppid}-1`)))
})

t.test('--resume of a run that is not over is refused, and the run goes on; its lock goes with it', async (t) => {
  const out = path.join(temporaryFolder(t), 'run')
  const url = await httpServer(t, created)
  const flags = ['--rates', '20,30', '--duration', '500ms', '--warmup', '100ms', '--slo-p99', '5s', '--timeout', '5s']
  // It still holds the folder, and cannot end meanwhile.
  const lab = startLab(['sweep', '--url', url, ...flags, '--out', out], {}, { stopsAt: 'trial 1:' })
  await lab.stderrHas('trial 1:')
  t.match(await runHere(['sweep', '--resume', out]), {
    code: 2,
    stderr: new RegExp(`--resume: expected a folder that no run is using, got .*process ${lab.child.pid} is writing`),
  })
  lab.child.kill('SIGCONT')
  t.equal((await lab.ended).code, 0)
  t.equal(readTrials(out).length, 2)
  t.equal(readRun(out).interrupted, false)
  t.strictSame(
    fs.readdirSync(out).filter((name) => name.startsWith('lock')),
    [],
  )
})

t.test('a verb that keeps no run of its own leaves its answer in --out, and nothing if it fails', async (t) => {
  const out = path.join(temporaryFolder(t), 'answer')
  const ask = (/** @type {() => any} */ run) => ({
    ...{ about: 'what is it?', flags: {}, examples: '  npm run ask' },
    run: async () => run(),
  })
  const asked = async (/** @type {() => any} */ run) => {
    const shell = createShell()
    const code = await main({ ask: ask(run) }, ['ask', '--out', out, '--seed', '2'], shell)
    return { code, ...shell.said }
  }
  const refused = await asked(() => {
    throw new UsageError('expected more')
  })
  t.match(refused, { code: 2, stderr: 'redline: expected more\n' })
  t.notOk(fs.existsSync(out))

  const answer = { run: { verb: 'ask', problem: 'it is unknown' }, text: 'a  b\nc  d', folder: null }
  const answered = await asked(() => answer)
  t.equal(answered.code, 1)
  t.equal(answered.stdout, `\na  b\nc  d\n\n${out}/report.md\n`)
  t.match(readRun(out), { ...answer.run, run_id: /-ask$/, plan: { seed: 2 } })
  t.strictSame(readRun(out).argv, ['--out', out, '--seed', '2'])
  t.equal(fs.readFileSync(`${out}/report.md`, 'utf8'), '```text\na  b\nc  d\n```\n')
  t.match((await asked(() => answer)).stderr, /^redline: --out: expected a folder without a run, got /)
})
