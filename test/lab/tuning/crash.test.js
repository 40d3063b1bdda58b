import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { runRounds } from '../../../tuning/experiments/crash-test/rounds.js'
import { startServer } from '../../support/postgres.js'

const run = promisify(execFile)

t.test('npm run crash-test: a row per blow, nothing lost, doubled or invented, and exit code 0', async (t) => {
  const { stdout, stderr } = await run(process.execPath, ['tuning/experiments/crash-test/cli.js', '--rounds', '3'], {
    timeout: 240_000,
  })
  const [head, , ...rows] = stdout
    .trim()
    .split('\n')
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    )
  t.strictSame(head, ['blow', 'times', 'acknowledged', 'unknown', 'lost', 'doubled', 'invented'])
  t.strictSame(
    rows.map(([blow, times]) => [blow, times]),
    [
      ['kill -9 of the API', '3'],
      ['SIGTERM of the API', '3'],
      ['kill -9 of Postgres', '3'],
      ['kill -9 of one backend', '3'],
    ],
  )
  for (const [blow, , acknowledged, unknown, ...wrong] of rows) {
    t.ok(Number(acknowledged) >= 600, `${blow}: ${acknowledged} acknowledged`)
    if (blow.startsWith('SIGTERM')) t.equal(unknown, '0', 'a drain answers everybody')
    t.strictSame(wrong, ['0', '0', '0'], blow)
  }
  t.equal(stderr.match(/^\d+ of 12: /gm)?.length, 12, 'a line as each blow is over')
})

t.test('a Postgres that acknowledges before it is durable is caught', async (t) => {
  const results = await runRounds({
    ...{ rounds: 1, blows: ['kill -9 of Postgres'], env: process.env, onRound: () => {} },
    startPostgres: () => startServer({ synchronous_commit: 'off', wal_writer_delay: '10s' }),
  })
  t.equal(results.length, 1)
  t.ok(results[0].lost.length > 0, 'rows are lost, and the check says so')
})
