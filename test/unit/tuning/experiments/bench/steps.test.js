import t from 'tap'
import { kindOf, nextStep, visitsOf } from '../../../../../tuning/experiments/bench/steps.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

const plan = /** @type {any} */ ({
  repeats: 2,
  contenders: ['a', 'b', 'c'],
  mix: { name: 'create-user', seed: 7 },
  duration_s: 1,
})

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
    const serve = createService(({ cell }) => ({ capacity_rps: cell === 'a' ? 30_000 : 5000 }))
    const records = recordsOf(plan, nextStep, serve)
    t.equal(records.length, 2 * (4 + 3 + 3))
    const visits = records.map(({ cell }, i) => (cell === records[i - 1]?.cell ? null : cell)).filter(Boolean)
    t.ok(visits.length <= 6, `${visits}`)
    const high = records.filter(({ experiment }) => kindOf(experiment) === 'high')
    t.strictSame([...new Set(high.map(({ cell }) => cell))], ['a'])
    const half = records.find(({ cell, experiment }) => cell === 'b' && kindOf(experiment) === 'half')
    t.equal(half.load.rate_rps, 2500)
  },
)
