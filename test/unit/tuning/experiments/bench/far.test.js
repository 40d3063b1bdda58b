import t from 'tap'
import { analyse, bench, design } from '../../../../../tuning/experiments/bench/bench.js'
import { recordsOf } from '../../../../support/simulated/records.js'

/** @import { Serve } from '../../../../support/simulated/service.js' */

const plan = /** @type {any} */ ({
  repeats: 2,
  contenders: ['rtt-0', 'rtt-10'],
  mix: { name: 'create-user', seed: 7 },
  duration_s: 1.5,
})
const rates_rps = /** @type {Record<string, number>} */ ({ 'rtt-0': 40_000, 'rtt-10': 36_000 })

/** @type {Serve} */
const serve = ({ cell }) => ({ ok_rps: rates_rps[String(cell?.contender)], mean_ms: 1 })

t.test('far from the database: many connections as fast as it goes, and next to no load', (t) => {
  const loads = recordsOf(plan, design, serve).map(({ at, cell, load }) => {
    return [at.block, cell.contender, at.kind, load.connections, load.rate_rps]
  })
  t.strictSame(
    loads.sort(),
    [0, 1].flatMap((block) =>
      plan.contenders.flatMap((/** @type {string} */ name) => [
        [block, name, 'low', 64, 200],
        [block, name, 'saturation', 1024, null],
      ]),
    ),
  )
  t.end()
})

t.test('the report relates what is far to what is near, and asks for no other server', (t) => {
  const found = analyse(plan, recordsOf(plan, design, serve), { not_applied: [] })
  t.equal(found.problem, null)
  const table = bench.report(found).find((block) => block.kind === 'table' && block.name === 'far')
  const ratios = /** @type {any} */ (table).rows.map((/** @type {string[]} */ row) => [row[0], row[2].slice(0, 4)])
  t.strictSame(ratios, [
    ['rtt-0', '1.00'],
    ['rtt-10', '0.90'],
  ])
  t.end()
})

t.test('also far from the database, a figure that the generator bounded is marked as a lower bound', (t) => {
  const full = (/** @type {string} */ name) => (name === 'rtt-0' ? { generator_cores: 1 } : { generator_cores: 0.4 })
  const records = recordsOf(plan, design, (step, trial) => ({
    ...serve(step, trial),
    ...full(String(step.cell?.contender)),
  }))
  const report = bench.report(analyse(plan, records, { not_applied: [] }))
  const table = report.find((block) => block.kind === 'table' && block.name === 'far')
  const marked = /** @type {any} */ (table).rows.map((/** @type {string[]} */ row) => [row[0], row[1].startsWith('≥')])
  t.strictSame(marked, [
    ['rtt-0', true],
    ['rtt-10', false],
  ])
  t.end()
})
