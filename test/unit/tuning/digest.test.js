import t from 'tap'
import { Latencies } from '../../../tuning/balance/digest.js'

t.test('Latencies gives the median and the 95th percentile of all samples so far', async (t) => {
  const latencies = new Latencies()
  t.strictSame(latencies.add(7), { samples: 1, median_ms: 7, p95_ms: 7 })
  for (let ms = 1; ms < 1000; ms++) latencies.add(ms)
  const { samples, median_ms, p95_ms } = latencies.add(1000)
  t.equal(samples, 1001)
  t.ok(Math.abs(median_ms - 500) < 5, `median ${median_ms}`)
  t.ok(Math.abs(p95_ms - 950) < 5, `95th percentile ${p95_ms}`)
})
