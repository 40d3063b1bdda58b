import t from 'tap'
import { overload } from '../../../../../tuning/experiments/overload/overload.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

/** @import { TrialRecord } from '../../../../../load/report/record.js' */

const INVALID = { verdict: 'invalid', because: 'noise', blame: 'noise' }
const PLAN = overload.plan({ blocks: 2, duration: 2000 }, {})
const serve = createService({ capacity_rps: 3000, refusal: 503 })

/** @param {(record: any) => any} [change] */
const measured = (change) => recordsOf(PLAN, overload.design, serve, { change })

/** @param {TrialRecord[]} records */
function tableOf(records) {
  const table = overload.report(overload.analyse(PLAN, records, {})).find((block) => block.kind === 'table')
  const { head, rows } = /** @type {any} */ (table)
  return rows.map((/** @type {string[]} */ row) => Object.fromEntries(row.map((cell, i) => [head[i], cell])))
}

/** @param {TrialRecord} record */
const name = ({ at }) => (at.share === undefined ? at.phase : `${at.share}x`)

t.test('overload: every block has each load, and every other block goes backwards', async (t) => {
  const records = measured()
  const there = ['peak', 'crowd', '0.5x', '2x', '0.5x', '3x', '0.5x']
  t.strictSame(records.map(name), [...there, ...there.toReversed()])
  const peak_rps = records[0].traffic.goodput_rps
  const offered = records.flatMap(({ load }) => load.rate_rps ?? [])
  const shares = [0.5, 2, 0.5, 3, 0.5].map((share) => Math.round(peak_rps * share))
  t.strictSame(offered, [...shares, ...shares.toReversed()], 'shares of the first peak, so that blocks are alike')
})

t.test('overload: what is left is compared with the closed loop of the same block', async (t) => {
  // In the second block the machine is half as fast.
  const records = measured((record) => {
    if (record.at.block !== 1) return record
    return { ...record, traffic: { ...record.traffic, goodput_rps: record.traffic.goodput_rps / 2 } }
  })
  const rows = tableOf(records)
  t.strictSame(
    rows.map((/** @type {any} */ row) => [row.load, row.trials]),
    [
      ['peak', '2'],
      ['crowd', '2'],
      ['0.5x', '2'],
      ['2x', '2'],
      ['0.5x after 2x', '2'],
      ['3x', '2'],
      ['0.5x after 3x', '2'],
    ],
    'also in the block that goes backwards, a half load is named after what came before it',
  )
  const double = rows[3]
  t.match(double['of the closed loop'], /^100 \[100–100\] %$/, 'each block by its own peak')
  t.match(double['goodput/s'], /^2,250 \[1,500–3,000\]$/)
  t.match(overload.report(overload.analyse(PLAN, records, {}))[0], { text: /100 \[100–100\] % of it at 2x/ })
})

t.test('overload: run.json keeps the figures of each kind of load', async (t) => {
  const { kept } = overload.analyse(PLAN, measured(), {})
  t.strictSame(
    kept?.loads.map((/** @type {any} */ { load }) => load),
    ['peak', 'crowd', '0.5x', '2x', '0.5x after 2x', '3x', '0.5x after 3x'],
  )
  const double = JSON.parse(JSON.stringify(kept)).loads[3]
  t.match(double, { load: '2x', trials: 2, connections: 2000, goodput_rps: { median: 3000, least: 3000, most: 3000 } })
  t.match(double, { rate_rps: 6000, of_peak: { median: 1 }, of_crowd: { median: 1 }, refused: Number })
  t.strictSame(double.errors, {})
  t.match(double, { ok_p50_ms: Number, ok_p99_ms: Number, api_core_ratio: Number })
})

t.test('overload: an invalid trial does not count, and a load without a valid one is a problem', async (t) => {
  const once = measured((record) => (record.trial === 4 ? { ...record, outcome: INVALID } : record))
  t.equal(once.length, 15, 'it is repeated')
  t.equal(overload.analyse(PLAN, once, {}).problem, null)
  t.equal(tableOf(once)[3].trials, '2')
  const never = measured((record) =>
    record.at.share === 2 && record.at.block === 0 ? { ...record, outcome: INVALID } : record,
  )
  t.equal(overload.analyse(PLAN, never, {}).problem, '13 of 14 loads had a valid trial')
  t.equal(tableOf(never)[3].trials, '1')
})
