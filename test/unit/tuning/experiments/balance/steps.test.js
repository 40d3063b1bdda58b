import t from 'tap'
import { figuresOf } from '../../../../../tuning/experiments/balance/figures.js'
import { nextStep, partsOf, strategiesOf } from '../../../../../tuning/experiments/balance/steps.js'
import { madeUp, PLAN, textOf, trialsFor } from '../../../../support/made-up/balance.js'

t.test('each strategy once in each block; a run that was cut off goes on with the same trial', async (t) => {
  const records = trialsFor(PLAN)
  t.strictSame(partsOf(PLAN), ['overhead', 'strategies', 'crowded', 'failing'])
  for (const part of partsOf(PLAN)) {
    for (const block of [0, 1]) {
      const own = records.filter(({ at }) => at.part === part && at.block === block)
      t.ok(own.every(({ cell }) => cell.part === part))
      t.strictSame(own.map(({ cell }) => cell.strategy).sort(), strategiesOf(part, PLAN).sort())
    }
  }
  for (const length of [0, 5, records.length - 1]) {
    t.match(nextStep(PLAN, records.slice(0, length)), {
      at: records[length].at,
      cell: records[length].cell,
      restart: true,
    })
  }
  const bare = trialsFor({ ...PLAN, haproxy: null }).map(({ cell }) => `${cell.part}/${cell.strategy}`)
  t.notOk(bare.some((cell) => cell.includes('haproxy')))
  t.ok(['strategies/adaptive', 'failing/round-robin', 'overhead/direct'].every((cell) => bare.includes(cell)))
})

t.test('a late generator or a failing trial does not count', async (t) => {
  const records = madeUp({ 'round-robin': { p50: 300, errors: 0 }, adaptive: { p50: 200, errors: 0 } })
  const count = (/** @type {any[]} */ some) =>
    figuresOf(PLAN, some).strategies.find(({ strategy }) => strategy === 'adaptive')?.trials ?? 0
  const late = records.map((record) => ({
    ...record,
    probes: { ...record.probes, generator: { lateness_ms: { p50: 2, p95: 3 } } },
  }))
  const failed = records.map((record) => ({ ...record, outcome: { verdict: 'fail' } }))
  t.strictSame([count(records), count(late), count(failed)], [6, 0, 0])
  t.equal(figuresOf(PLAN, late).strategies.length, 0)
  t.match(textOf(PLAN, late), /48 of 48 trials were left out: requests failed in 0, the generator was late in 48/)
})
