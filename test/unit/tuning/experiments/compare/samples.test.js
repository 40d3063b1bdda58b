import t from 'tap'
import { bucketOf, middleOf } from '../../../../../load/generators/drivers/client.js'
import { histogramsOf, percentileOf, samplesOf } from '../../../../../tuning/experiments/compare/samples.js'

t.test('samples of several trials are put together; a percentile that they cannot carry is not given', async (t) => {
  const buckets = (/** @type {number[]} */ latencies) => {
    /** @type {Record<string, number>} */
    const counts = {}
    for (const ms of latencies) counts[bucketOf(ms)] = (counts[bucketOf(ms)] ?? 0) + 1
    return /** @type {any} */ ({ traffic: { buckets: counts } })
  }
  const one = buckets(Array.from({ length: 50 }, (_, i) => i + 1))
  const other = buckets(Array.from({ length: 50 }, (_, i) => i + 51))
  const samples = samplesOf([one, other])
  t.equal(samples.total, 100)
  t.ok(Math.abs(Number(percentileOf(samples, 0.5)) - 50) < 2)
  t.equal(percentileOf(samples, 0.99), undefined)
  t.ok(percentileOf(samples, 0.9))
  const { from_ms, shares } = histogramsOf([samples, samplesOf([one])])
  t.equal(from_ms.length, 11)
  t.ok(Math.abs(from_ms[0] - 10) < 0.5, 'from the lowest percentile that the samples support')
  const [all, low] = shares.map((own) => own.reduce((sum, share) => sum + share, 0))
  t.ok(Math.abs(all - 1) < 1e-9 && Math.abs(low - 1) < 1e-9, 'no sample is lost beyond the ends')
  t.ok(
    shares[0].slice(1, -1).every((share) => Math.abs(share - 85 / 1100) < 0.03),
    `${shares[0]}`,
  )
  t.strictSame(shares[1].slice(7), [0, 0, 0, 0])
  t.strictSame(histogramsOf([samplesOf([])]), { from_ms: [], shares: [[]] })
  t.ok(Math.abs(middleOf(bucketOf(123)) / 123 - 1) < 0.024)
})
