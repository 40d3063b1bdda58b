import path from 'node:path'
import t from 'tap'
import { CONTENDERS, openContender } from '../../../tuning/experiments/bench/contenders.js'
import { newUser, post } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

t.test('bench: a floor stores nothing, a contender a row for each 201', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--only', 'json,prepared', '--repeats', '2', '--duration', '100ms']
  const { trials, stdout } = await smoke(t, 'bench', flags, { databaseUrl: url })
  const closed = trials.filter(({ at }) => at.kind === 'saturation')
  t.strictSame(closed.map(({ cell }) => cell.contender).sort(), ['json', 'json', 'prepared', 'prepared'])
  t.ok(trials.length >= 4)
  for (const { cell, traffic } of trials)
    t.equal(traffic.rows_stored, cell.contender === 'json' ? null : traffic.ok, cell.contender)
  t.match(stdout, /report\.md/)
})

t.test('each contender answers 201, and stores a row unless it is a floor', async (t) => {
  const { url } = await newDatabase(t)
  const logFile = path.join(temporaryFolder(t), 'api.log')
  const place = { databaseUrl: url, cores: null, allCores: null, env: process.env, logFile }
  t.equal(CONTENDERS.length, 11)
  await Promise.all(
    CONTENDERS.map(async (contender) => {
      const target = await openContender(contender, place)
      t.teardown(target.stop)
      const user = newUser()
      const { status } = await post(target.url, user)
      t.equal(status, 201, contender.name)
      const stored = await rows(url, 'SELECT password FROM users WHERE email = $1', [user.email])
      t.equal(stored.length, contender.kind === 'floor' ? 0 : 1, `${contender.name}: rows`)
    }),
  )
})
