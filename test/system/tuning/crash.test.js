import t from 'tap'
import { BLOWS, runRounds } from '../../../tuning/crash/rounds.js'
import { startServer } from '../../support/postgres.js'

t.test('whatever dies, and when: nothing acknowledged is lost, doubled or invented', async (t) => {
  const results = await runRounds({ rounds: 1, startPostgres: startServer, env: process.env, onRound: () => {} })
  const names = Object.keys(BLOWS)
  t.strictSame(
    results.map(({ blow }) => blow),
    names,
  )
  for (const { blow, acknowledged, unknown, lost, doubled, invented } of results) {
    if (blow.startsWith('SIGTERM')) t.equal(unknown, 0, 'a drain answers everybody')
    t.ok(acknowledged >= 200, `${blow}: ${acknowledged} acknowledged`)
    t.strictSame({ lost, doubled, invented }, { lost: [], doubled: [], invented: [] }, blow)
  }
})

t.test('a Postgres that acknowledges before it is durable is caught', async (t) => {
  const results = await runRounds({
    ...{ rounds: 1, blows: ['kill -9 of Postgres'], env: process.env, onRound: () => {} },
    startPostgres: () => startServer({ synchronous_commit: 'off', wal_writer_delay: '10s' }),
  })
  t.equal(results.length, 1)
  t.ok(results[0].lost.length > 0, 'rows are lost, and the check says so')
})
