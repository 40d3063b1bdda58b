import t from 'tap'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

t.test('bench: a floor stores nothing, a contender a row for each 201', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--only', 'json,prepared', '--repeats', '2', '--duration', '100ms']
  const { trials, stdout } = await smoke(t, 'bench', flags, { databaseUrl: url })
  const closed = trials.filter(({ experiment }) => experiment.startsWith('saturation'))
  t.strictSame(closed.map(({ cell }) => cell).sort(), ['json', 'json', 'prepared', 'prepared'])
  t.ok(trials.length >= 4)
  for (const { cell, traffic } of trials) t.equal(traffic.rows_stored, cell === 'json' ? null : traffic.ok, cell)
  t.match(stdout, /report\.md/)
})
