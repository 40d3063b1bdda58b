import t from 'tap'
import { sizeRows, sizesOf } from '../../../../../tuning/experiments/compare/sizes.js'
import { findingsOf, runOf, textOf } from '../../../../support/made-up/compare.js'

/** @param {any[]} records @param {Record<string, number>} body_bytes by side */
function withSizes(records, body_bytes) {
  return records.map((record) => {
    const bytes = body_bytes[record.cell.side]
    const sizes = { ok_body_bytes: { p50: bytes }, ok_response_bytes: { p50: bytes + 150 } }
    return { ...record, traffic: { ...record.traffic, ...sizes } }
  })
}

t.test('response sizes stand in the comparison with their ratio, and in run.json', async (t) => {
  const records = withSizes(runOf({ noise: 0 }), { a: 50, b: 1350 })
  const text = textOf(records)
  t.match(text, /\| response size, bytes +\| 27\.00x \| +– \| +– \| +A 50, B 1,350 +\|/)
  t.match(text, /\| response size with headers, bytes +\| +7\.50x \| +– \| +– \| +A 200, B 1,500 \|/)
  t.match(text, /Response size: the median of the successes/)
  const { kept } = findingsOf(records)
  t.strictSame(kept.response_sizes, [
    { side: 'a', body_bytes: 50, response_bytes: 200 },
    { side: 'b', body_bytes: 1350, response_bytes: 1500 },
  ])
  t.equal(kept.differences.length, 4, 'a size is no difference that is tested')
})

t.test('a run that did not count response sizes says nothing of them', async (t) => {
  const records = runOf({ noise: 0 })
  t.notMatch(textOf(records), /[Rr]esponse size[,: ]/)
  t.notOk('response_sizes' in findingsOf(records).kept)
})

t.test('the size of a side is the median of its trials; without one on both sides there is no row', async (t) => {
  const trials = [10, 30, 20].map((p50) => ({ traffic: { ok_body_bytes: { p50 }, ok_response_bytes: null } }))
  const sizes = sizesOf(/** @type {any} */ ([...trials, { traffic: {} }]))
  t.equal(sizes.body_bytes, 20)
  t.ok(Number.isNaN(sizes.response_bytes), 'no trial has it')
  const [empty, none] = [0, Number.NaN].map((body_bytes) => ({ body_bytes, response_bytes: Number.NaN }))
  const rows = (/** @type {typeof sizes} */ a, /** @type {typeof sizes} */ b) => {
    return sizeRows([
      { name: 'A', sizes: a },
      { name: 'B', sizes: b },
    ])
  }
  t.strictSame(rows(sizes, none), [])
  t.strictSame(rows(empty, sizes), [['response size, bytes', '–', '–', '–', 'A 0, B 20']], 'nothing has no ratio')
})
