import fs from 'node:fs'
import t from 'tap'
import { GRACE_MS } from '../../../api/drain.js'
import { BLOWS, runRounds } from '../../../tuning/experiments/crash-test/rounds.js'
import { processesOf, readRun, startLab, temporaryFolder } from '../../support/lab.js'
import { startServer } from '../../support/postgres.js'
import { watchStalls } from '../../support/stalls.js'

t.test('crash-test: nothing is lost, doubled or invented whichever process dies, and the exit code is 0', async (t) => {
  const out = `${temporaryFolder(t)}/out`
  const { code, stderr } = await startLab(['crash-test', '--blocks', '3', '--out', out]).ended
  t.equal(code, 0, stderr)
  const { rows } = readRun(out)
  t.strictSame(
    rows.map((/** @type {any} */ { blow }) => blow),
    [1, 2, 3].flatMap(() => Object.keys(BLOWS)),
  )
  for (const { blow, lost, doubled, invented } of rows) {
    t.strictSame({ lost, doubled, invented }, { lost: [], doubled: [], invented: [] }, blow)
  }
  for (const blow of Object.keys(BLOWS)) {
    const own = rows.filter((/** @type {any} */ row) => row.blow === blow)
    const sum = own.reduce((/** @type {number} */ all, /** @type {any} */ { acknowledged }) => all + acknowledged, 0)
    t.ok(sum >= 600, `${blow}: ${sum} acknowledged`)
  }
  t.equal(stderr.match(/^\d+ of 12: /gm)?.length, 12, 'a line as each blow is over')
  t.strictSame(await unknownOfDrains(t, 3), [0, 0, 0], 'a drain answers everybody')
})

/**
 * The requests of unknown outcome in so many drains, by a client in this process. A drain leaves an idle connection open for the grace: who
 * sends on it later, finds it closed. So those in which the client stood still for nearly as long do not count.
 * @param {any} t @param {number} count
 */
async function unknownOfDrains(t, count) {
  const stalled_ms = watchStalls(t)
  const signal = new AbortController().signal
  const drains = { rounds: 20 * count, blows: ['SIGTERM of the API'], startPostgres: startServer }
  const found = []
  for await (const { unknown } of runRounds({ ...drains, env: process.env, signal })) {
    if (stalled_ms() < 0.8 * GRACE_MS) found.push(unknown)
    if (found.length === count) break
  }
  return found
}

t.test('crash-test: Ctrl-C keeps the blows that are over, and leaves no process and no file', async (t) => {
  const folder = temporaryFolder(t)
  const out = `${folder}/out`
  const cut = startLab(['crash-test', '--blocks', '3', '--out', out], { TMPDIR: folder })
  await cut.stderrHas('1 of 12: ')
  cut.child.kill('SIGINT')
  const { code, stderr } = await cut.ended
  t.equal(code, 130)
  t.match(stderr, `interrupted; what it measured is in ${out}`)
  t.match(readRun(out), { interrupted: true, problem: null, rows: { 0: { blow: 'kill -9 of the API' } } })
  t.strictSame(processesOf(folder), [])
  t.strictSame(fs.readdirSync(folder), ['out'])
})

t.test('a Postgres that acknowledges before it is durable is caught', async (t) => {
  const rounds = runRounds({
    ...{ rounds: 1, blows: ['kill -9 of Postgres'], env: process.env, signal: new AbortController().signal },
    startPostgres: () => startServer({ synchronous_commit: 'off', wal_writer_delay: '10s' }),
  })
  const { value, done } = await rounds.next()
  t.ok(!done && value.lost.length > 0, 'rows are lost, and the check says so')
  t.strictSame(await rounds.next(), { value: undefined, done: true })
})
