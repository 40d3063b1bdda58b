import path from 'node:path'
import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import { createUserMix } from '../../../load/generators/mix.js'
import {
  CONTENDERS,
  closeContenders,
  keepContender,
  openContender,
} from '../../../tuning/experiments/bench/contenders.js'
import { findPgbench } from '../../../tuning/experiments/bench/direct/pgbench.js'
import { newUser, post } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const embedded = await newDatabase(t)

/** A floor, one of ours, and one far from its database. The others are met by the bench in test/lab. */
const MET = CONTENDERS.filter(({ name }) => name === 'json' || name === 'prepared' || name === 'rtt-3')

const logFile = path.join(temporaryFolder(t), 'api.log')
const place = { databaseUrl: embedded.url, cores: null, allCores: null, env: process.env, logFile }
const withoutPgbench = findPgbench() ? undefined : 'pgbench is not installed'

t.test('a contender answers 201, and stores a row unless it is a floor', async (t) => {
  t.equal(MET.length, 3)
  await Promise.all(
    MET.map(async (contender) => {
      const target = await openContender(contender, place)
      t.teardown(target.stop)
      const user = newUser()
      const { status } = await post(target.url, user)
      t.equal(status, 201, contender.name)
      const stored = await rows(embedded.url, 'SELECT password FROM users WHERE email = $1', [user.email])
      t.equal(stored.length, contender.kind === 'floor' ? 0 : 1, `${contender.name}: rows`)
    }),
  )
})

t.test('a contender stays up, is warmed up once, and ends with the run', async (t) => {
  const json = /** @type {any} */ (CONTENDERS.find(({ name }) => name === 'json'))
  const plan = /** @type {any} */ ({ driver: 'autocannon', mix: createUserMix(7), timeout_s: 10, duration_s: 0.05 })
  const first = await keepContender(json, place, plan)
  t.teardown(() => closeContenders(place))
  await first.fill?.(new AbortController().signal)
  await first.stop()
  const again = await keepContender(json, place, plan)
  t.strictSame([typeof first.fill, again.fill, again.pid], ['function', undefined, first.pid])
  t.equal((await post(again.url, newUser())).status, 201, 'it outlives a visit')
  await closeContenders(place)
  await t.rejects(post(again.url, newUser()), { cause: { code: 'ECONNREFUSED' } })
})

t.test('pgbench and COPY store the rows that they report', { skip: withoutPgbench }, async (t) => {
  const direct = CONTENDERS.filter(({ name }) => name === 'pgbench' || name === 'copy')
  t.equal(direct.length, 2)
  for (const [i, contender] of direct.entries()) {
    const { name, connections = 0 } = contender
    const target = await openContender(contender, place)
    t.teardown(target.stop)
    const about = { driver: name, connections, url: target.url, mix: createUserMix(7), trial: i, timeout_s: 10 }
    const load = { ...about, rate_rps: null }
    const generator = await target.startLoad?.(load, new AbortController().signal, () => {})
    t.teardown(() => generator?.close())
    const first = await generator?.run(0.05)
    await generator?.ready(0.05)
    const second = await generator?.run(0.05)
    t.ok(Number(first?.planned) > 0 && Number(second?.planned) > 0, name)
    const count = `SELECT count(*)::int AS stored FROM users WHERE email LIKE 'user-7-${i}-%@redline.test'`
    const [{ stored }] = await rows(embedded.url, count)
    t.equal(stored, Number(first?.planned) + Number(second?.planned), name)
  }
})

t.test('pgbench is left out where it cannot connect', { skip: withoutPgbench }, async (t) => {
  const pgbench = /** @type {any} */ (CONTENDERS.find(({ name }) => name === 'pgbench'))
  const url = new URL(embedded.url)
  url.password = 'wrong'
  const error = await openContender(pgbench, { ...place, databaseUrl: url.href }).catch((refusal) => refusal)
  t.type(error, NotApplied)
  t.match(error.message, /^pgbench ended with code \d+: .*password authentication failed/)
})
