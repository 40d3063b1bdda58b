import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { terminalOf } from '../../../load/report/terminal.js'
import { classBlocks, readClass } from '../../../tuning/workshop/class.js'
import { playThrough } from '../../../tuning/workshop/play.js'
import { readProgress } from '../../../tuning/workshop/progress.js'
import { processesOf, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { withoutRoot } from '../../support/skip.js'
import { firstMatch } from '../../support/until.js'

const PROGRAM = ['tuning/cli.js', 'workshop']

t.test('an exercise from end to end: cut off, left, resumed, answered wrongly, solved', async (t) => {
  const embedded = await newDatabase(t)
  const folder = path.join(temporaryFolder(t), 'class')
  const env = { ...process.env, DATABASE_URL: embedded.url }
  const begin = () =>
    spawn(process.execPath, [...PROGRAM, '--exercise', '6', '--out', folder], {
      env,
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: 120_000,
      killSignal: 'SIGKILL',
    })
  const stage = () => readProgress(folder).exercises.files?.stage

  const cut = begin()
  await firstMatch('the first measurement', cut.stdout, /First, the throughput of this machine/)
  cut.kill('SIGINT')
  t.equal(cut.exitCode ?? (await once(cut, 'exit'))[0], 130, 'Ctrl-C while it measures')
  t.equal(stage(), 'before')

  const closed = begin()
  closed.stdin.end()
  const [said] = await Promise.all([closed.stdout.toArray(), once(closed, 'exit')])
  t.match(Buffer.concat(said).toString(), /Progress saved\. To continue: npm run workshop -- --exercise 6 --out \S+/)
  t.equal(closed.exitCode, 0, 'nobody is there')
  t.equal(stage(), 'predict')

  const { codes, transcript, state } = playThrough(6, { folder, env })
  t.strictSame(codes, [0, 0], 'left in the middle, and played to its end')
  t.match(
    transcript,
    /Expected a letter from a to d, got "".*Expected a letter from a to d, got "banana".*Hint 1 of 2/s,
  )
  t.match(transcript, /Your guess: wrong\. At its limit: (nofile|max-connections)/)
  t.match(transcript, /Not solved: \d.*Solved: 100 % succeeded/s)
  t.ok(
    transcript.split('\n').every((line) => line.length <= 100),
    `fits a terminal: ${transcript.split('\n').filter((line) => line.length > 100)}`,
  )
  t.equal(state.stage, 'done')
  // A noisy machine may spoil a measurement, which is then asked for again.
  t.equal(state.round, state.answers.filter((/** @type {any} */ { question }) => question === 'turn').length)
  t.match(state.answers[0], { question: 'predict', said: 'accept-queue', by: 'student', at: /Z$/ })
  t.strictSame(
    state.outcomes.map((/** @type {any} */ { solved }) => solved),
    [false, true],
  )

  const again = spawnSync(process.execPath, [...PROGRAM, '--exercise', '6', '--out', folder, '--json'], {
    env,
    encoding: 'utf8',
  })
  t.equal(JSON.parse(again.stdout).exercises[5].state.stage, 'done', 'what is solved is not measured again')
  const page = spawnSync(process.execPath, ['tuning/cli.js', 'report', path.join(folder, '06-files')], {
    encoding: 'utf8',
  })
  t.match(page, { status: 0, stdout: /What was measured for the exercise "Files and sockets"\./ })
  t.strictSame(processesOf(folder), [])
})

t.test(
  'an incident: no hints, a clock, two changes that are also measured alone, and a text for the class',
  async (t) => {
    const { url } = await newDatabase(t)
    const folder = path.join(temporaryFolder(t), 'class')
    const env = { ...process.env, DATABASE_URL: url }
    const { codes, transcript, state } = playThrough(12, { folder, env })
    t.strictSame(codes, [0, 0])
    t.match(transcript, /There are no hints\..*The clock: 0 min \d+ s of 15 min\./s)
    t.match(transcript, /Not solved: with both changes, .*Solved: .*broken with either one alone.*The incident took/s)
    t.match(state, { stage: 'done', clock: { began_at: /Z$/, ended_at: /Z$/ } })
    t.equal(state.answers.at(-1)?.question, 'explain')
    t.match(terminalOf(classBlocks(readClass(path.dirname(folder)))), /Students: 1\./)
    t.strictSame(processesOf(folder), [])
  },
)

/** Programs that macOS has, too: no taskset, no prlimit, no setpriv. */
const COMMON = ['sh', 'ps', 'id', 'cp', 'chmod', 'ln', 'cat', 'kill', 'uname']
const HIDE_PROC = 'mount --make-rprivate / && mount -t tmpfs none /proc && PATH=$COMMON exec "$@"'

t.test('as on macOS: no /proc, nothing to pin or limit with', { skip: withoutRoot() ?? false }, async (t) => {
  const { url } = await newDatabase(t)
  const folder = temporaryFolder(t)
  const common = path.join(folder, 'bin')
  fs.mkdirSync(common)
  for (const name of COMMON) fs.symlinkSync(String(execFileSync('which', [name])).trim(), path.join(common, name))
  const env = { ...process.env, DATABASE_URL: url, COMMON: common }
  const within = ['unshare', '--mount', 'sh', '-c', HIDE_PROC, 'sh']
  const { codes, transcript, state } = playThrough(6, { folder: path.join(folder, 'class'), env, within })
  t.strictSame(codes, [0, 0], transcript.slice(-1000))
  t.match(transcript, /Here: This system cannot\s+pin a process to a core/)
  t.match(transcript, /Your guess: wrong\. At its limit: max-connections/)
  t.match(transcript, /Not solved: \d.*Solved: 100 % succeeded/s)
  t.equal(state.stage, 'done')
  t.strictSame(processesOf(folder), [])
})
