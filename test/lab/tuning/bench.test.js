import { spawnSync } from 'node:child_process'
import path from 'node:path'
import t from 'tap'
import { CONTENDERS } from '../../../tuning/bench/contenders.js'
import { kindOf, nextStep, visitsOf } from '../../../tuning/bench/steps.js'
import { ratios } from '../../../tuning/bench/tables.js'
import { openContender } from '../../../tuning/bench/target.js'
import { median } from '../../../tuning/ranks.js'
import { slopeOf } from '../../../tuning/soak.js'
import { spread } from '../../../tuning/spread.js'
import { newUser, post } from '../../support/api.js'
import { rows } from '../../support/database.js'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

const embedded = await newDatabase(t)

t.test('each contender answers 201, and stores a row unless it is a floor', async (t) => {
  const logFile = path.join(temporaryFolder(t), 'api.log')
  const place = { databaseUrl: embedded.url, cores: null, allCores: null, env: process.env, logFile }
  await Promise.all(
    CONTENDERS.map(async (contender) => {
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

const plan = /** @type {any} */ ({ repeats: 2, contenders: ['a', 'b', 'c'], mix: { seed: 7 }, duration_s: 1 })

t.test('every contender in every block, in an order of its own that the seed decides', async (t) => {
  const visits = visitsOf(plan)
  for (const block of [0, 1]) {
    const names = visits.filter((visit) => visit.block === block).map(({ name }) => name)
    t.strictSame(names.sort(), ['a', 'b', 'c'])
  }
  t.strictSame(visits, visitsOf(plan))
  const orders = Array.from({ length: 20 }, (_, seed) => visitsOf({ ...plan, mix: { seed }, repeats: 1 })[0].name)
  t.equal(new Set(orders).size, 3, 'each comes first for some seed')
})

t.test(
  'a contender stays until it has been through everything; the high rate is for those that reach it',
  async (t) => {
    /** @type {any[]} */
    const records = []
    for (let step = nextStep(plan, records); step; step = nextStep(plan, records)) {
      const goodput_rps = step.cell === 'a' ? 30_000 : 5000
      records.push({ ...step, outcome: { verdict: 'pass' }, traffic: { goodput_rps } })
    }
    t.equal(records.length, 2 * (4 + 3 + 3))
    const visits = records.map(({ cell }, i) => (cell === records[i - 1]?.cell ? null : cell)).filter(Boolean)
    t.ok(visits.length <= 6, `${visits}`)
    const high = records.filter(({ experiment }) => kindOf(experiment) === 'high')
    t.strictSame([...new Set(high.map(({ cell }) => cell))], ['a'])
    const half = records.find(({ cell, experiment }) => cell === 'b' && kindOf(experiment) === 'half')
    t.equal(half.load.rate_rps, 2500)
  },
)

t.test('ratios are those of the same block; a spread is median, least and most', async (t) => {
  const of = (/** @type {number[]} */ values) => {
    return values.map((value, block) => /** @type {any} */ ({ experiment: `low/${block}`, value }))
  }
  const value = (/** @type {any} */ record) => record.value
  t.strictSame(ratios(of([10, 30]), of([5, 10]).reverse(), value), [2, 3])
  t.strictSame(ratios(of([10, 30]), of([5]), value), [2])
  t.equal(median([4, 1, 3, 2]), 2.5)
  t.equal(spread([1000, 3000, 2000], 0), '2,000 [1,000–3,000]')
  t.equal(spread([1.234], 1), '1.2')
  t.equal(spread([Number.NaN], 1), '–')
})

t.test('a slope is that of what follows the start', async (t) => {
  const samples = Array.from({ length: 10 }, (_, i) => ({ at_s: i * 10, value: i < 2 ? 500 : 100 + i }))
  t.equal(Number(slopeOf(samples)?.toFixed(6)), 0.1)
  t.equal(slopeOf(samples.slice(0, 3)), null)
})

t.test('bench and soak run from end to end', async (t) => {
  const folder = temporaryFolder(t)
  /** @type {[string, string[], string[]][]} */
  const verbs = [
    ['bench', ['--only', 'json,prepared', '--repeats', '2', '--duration', '100ms'], ['json', 'prepared']],
    ['soak', ['--duration', '1s', '--rate', '200'], []],
  ]
  for (const [verb, flags, cells] of verbs) {
    const out = path.join(folder, verb)
    const { status, stdout, stderr } = spawnSync(process.execPath, ['tuning/cli.js', verb, ...flags, '--out', out], {
      encoding: 'utf8',
      env: { ...process.env, DATABASE_URL: embedded.url },
    })
    t.equal(status, 0, stderr)
    t.match(stdout, /report\.md/)
    t.strictSame([...new Set(readTrials(out).map(({ cell }) => cell))].sort(), cells.length > 0 ? cells : [null])
  }
  const { status, stderr } = spawnSync(process.execPath, ['tuning/cli.js', 'bench', '--only', 'nobody'], {
    encoding: 'utf8',
  })
  t.equal(status, 2)
  t.match(stderr, /^redline: --only: expected some of no-op,json,.* got "nobody"\n$/)
})
