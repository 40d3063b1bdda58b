import fs from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { CONTENDERS, openContender } from '../../../tuning/experiments/bench/contenders.js'
import { findPgbench } from '../../../tuning/experiments/bench/direct/pgbench.js'
import { newUser, post } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

t.test('bench: a floor stores nothing, a contender a row for each 201', async (t) => {
  const { url } = await newDatabase(t)
  const flags = ['--only', 'json,prepared', '--blocks', '2', '--duration', '100ms']
  const { trials, stdout } = await smoke(t, 'bench', flags, { databaseUrl: url })
  const closed = trials.filter(({ at }) => at.kind === 'saturation')
  t.strictSame(closed.map(({ cell }) => cell.contender).sort(), ['json', 'json', 'prepared', 'prepared'])
  t.ok(trials.length >= 4)
  // How many rows there have to be is asserted for every verb, in conserves().
  for (const { cell, traffic } of trials)
    t.equal(traffic.rows_stored === null, cell.contender === 'json', cell.contender)
  t.match(stdout, /report\.md/)
})

t.test(
  'bench: pgbench and COPY store what they say, without a service',
  { skip: findPgbench() ? undefined : 'pgbench is not installed' },
  async (t) => {
    const { url } = await newDatabase(t)
    const flags = ['--only', 'pgbench,copy,copy-bulk', '--blocks', '1', '--duration', '100ms']
    const { run, trials, stdout } = await smoke(t, 'bench', flags, { databaseUrl: url })
    t.equal(run.problem, null)
    t.strictSame(trials.map(({ cell }) => cell.contender).sort(), ['copy', 'copy-bulk', 'pgbench'])
    for (const { cell, target, traffic, probes } of trials) {
      const about = `${cell.contender}: ${JSON.stringify({ traffic, generator: probes.generator })}`
      t.equal(traffic.rows_stored, traffic.ok, about)
      t.ok(traffic.goodput_rps > 0, about)
      t.equal(target.pid, null, about)
      if (fs.existsSync('/proc/self/stat')) t.ok(probes.generator.cpu_us_per_request > 0, about)
      t.notMatch(JSON.stringify(target), new URL(url).password, 'no password is kept')
    }
    const [{ email, password }] = await rows(url, 'SELECT email, password FROM redline_lab.users LIMIT 1', [])
    t.match(email, /^user-1-\d+-\d+@redline\.test$/)
    t.match(password, /^secret-\d+$/)
    t.match(stdout, /\| copy-bulk \|/)
  },
)

t.test('each contender answers 201, and stores a row unless it is a floor', async (t) => {
  const { url } = await newDatabase(t)
  const logFile = path.join(temporaryFolder(t), 'api.log')
  const place = { databaseUrl: url, cores: null, allCores: null, env: process.env, logFile }
  const servers = CONTENDERS.filter(({ kind }) => kind === 'server' || kind === 'floor')
  t.equal(servers.length, 11)
  await Promise.all(
    servers.map(async (contender) => {
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
