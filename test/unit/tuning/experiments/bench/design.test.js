import t from 'tap'
import { design } from '../../../../../tuning/experiments/bench/bench.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

const plan = /** @type {any} */ ({
  repeats: 2,
  contenders: ['batched', 'prepared', 'single'],
  mix: { name: 'create-user', seed: 7 },
  duration_s: 1,
})

/** @param {any} plan @param {any} [change] */
function runOf(plan, change) {
  const serve = createService(({ cell }) => ({ capacity_rps: cell?.contender === 'batched' ? 30_000 : 5000 }))
  return recordsOf(plan, design, serve, { change })
}

t.test('every contender in every block, in an order of its own that the seed decides', async (t) => {
  const records = runOf(plan)
  for (const block of [0, 1]) {
    const names = records.filter(({ at }) => at.block === block).map(({ cell }) => cell.contender)
    t.strictSame([...new Set(names)].sort(), ['batched', 'prepared', 'single'])
  }
  const firsts = Array.from({ length: 20 }, (_, seed) => {
    return design({ ...plan, mix: { seed }, repeats: 1 }, [], [])?.cell.contender
  })
  t.equal(new Set(firsts).size, 3, 'each comes first for some seed')
})

t.test('a contender stays until it has been through everything, at half of what it took last', async (t) => {
  const records = runOf(plan)
  t.equal(records.length, 2 * 3 * 3)
  const visits = records.filter(({ cell }, i) => cell.contender !== records[i - 1]?.cell.contender)
  t.ok(visits.length <= 6, `${visits.length}`)
  const half = records.find(({ cell, at }) => cell.contender === 'prepared' && at.kind === 'half')
  t.equal(half.load.rate_rps, 2500)
})

t.test('a trial that is invalid is repeated twice, then given up', async (t) => {
  const records = runOf({ ...plan, repeats: 1, contenders: ['prepared'] }, (/** @type {any} */ record) => {
    return record.at.kind === 'low' ? { ...record, outcome: { verdict: 'invalid', blame: 'noise' } } : record
  })
  t.strictSame(
    records.map(({ at }) => at.kind),
    ['saturation', 'low', 'low', 'low', 'half'],
  )
})
