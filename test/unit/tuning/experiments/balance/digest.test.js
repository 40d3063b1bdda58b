import t from 'tap'
import tdigest from 'tdigest'
import { seededRandom } from '../../../../../load/system/random.js'
import { seenWith } from '../../../../../tuning/experiments/balance/balancers.js'
import { quantilesOf } from '../../../../../tuning/experiments/balance/published.js'

t.test('the digest gives the median and the 95th percentile of what it was given', async (t) => {
  const random = seededRandom(1)
  const digest = /** @type {any} */ (new tdigest.TDigest())
  const all = Float64Array.from({ length: 5000 }, () => 50 + 500 * random() ** 2)
  let seen = { samples: 0, median_ms: 0, p95_ms: 0 }
  for (const latency_ms of all) seen = seenWith(digest, latency_ms)
  const exact = quantilesOf(all)
  t.equal(seen.samples, 5000)
  t.ok(Math.abs(seen.median_ms / exact.p50_ms - 1) < 0.01, `${seen.median_ms} of ${exact.p50_ms}`)
  t.ok(Math.abs(seen.p95_ms / exact.p95_ms - 1) < 0.01, `${seen.p95_ms} of ${exact.p95_ms}`)
})
