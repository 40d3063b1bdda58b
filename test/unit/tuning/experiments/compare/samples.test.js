import t from 'tap'
import { bucketOf, middleOf } from '../../../../../load/generators/drivers/client.js'
import { histogramOf, percentileOf, samplesOf } from '../../../../../tuning/experiments/compare/samples.js'

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
  const shares = histogramOf(samples, { from_ms: 0, to_ms: 100, count: 4 })
  t.ok(
    shares.every((share) => Math.abs(share - 0.25) < 0.03),
    `${shares}`,
  )
  t.ok(Math.abs(middleOf(bucketOf(123)) / 123 - 1) < 0.024)
})
