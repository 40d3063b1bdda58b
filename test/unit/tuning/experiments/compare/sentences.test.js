import t from 'tap'
import { runOf, textOf } from '../../../../support/made-up/compare.js'

t.test('refusals are no throughput: the rate up to which there are none is searched for', async (t) => {
  const records = runOf({ limit_rps: 300, noise: 0 })
  const limit = records.filter(({ at }) => at.of === 'limit')
  t.ok(limit.length > 5)
  t.strictSame([...new Set(limit.map(({ cell }) => cell.side))], ['a', 'b'])
  const ladder = records.filter(({ at }) => at.phase === 'maximum' && at.block === 0 && at.position === 0)
  t.ok(ladder.every(({ traffic }) => traffic.goodput_rps <= 300))
  t.equal(ladder.length, 2, 'a rung that brings no more is the last')
})

t.test('only what is answered 429 is a rate limit', async (t) => {
  const text = (/** @type {number} */ refusal) => {
    return textOf(runOf({ limit_rps: 300, noise: 0, limited: 'b', refusal }))
  }
  t.match(text(429), /B refused requests .*; rate limit between \d+.* and \d+.*\/s, above which it answers 429/)
  t.match(
    text(503),
    /B refused .*; between \d+.* and \d+.*\/s it begins to fail, above all by 503: a rate limit is not known/,
  )
  t.notMatch(text(503), /rate limit between/)
  const failing = runOf({ limit_rps: 300, noise: 0, limited: 'b', refusal: 429 }).map((record) => {
    const status = record.at.of === 'limit' ? { 201: 1, 500: 9 } : record.traffic.status
    return { ...record, traffic: { ...record.traffic, status } }
  })
  t.match(textOf(failing), /begins to fail, above all by 500: a rate limit is not known/)
})

t.test('with several requests in the mix, the rate limit is not looked for, and that is said', async (t) => {
  const plan = { mix: { seed: 1, entries: [{ name: 'create' }, { name: 'read' }] } }
  const records = runOf({ limit_rps: 300, noise: 0, plan })
  t.strictSame(
    records.filter(({ at }) => at.of === 'limit'),
    [],
  )
  t.match(textOf(records, plan), /A refused requests .*it is not looked for with a mix of several requests/)
})
