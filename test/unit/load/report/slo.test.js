import t from 'tap'
import {
  boundsOf,
  highestP99,
  highestP99Of,
  latencyBounds,
  sloText,
  UNBOUNDED_MS,
} from '../../../../load/report/slo.js'

const UNBOUNDED = { p99_ms: UNBOUNDED_MS, success_ratio: 1 }

t.test('an SLO is read from its conditions, or not at all', async (t) => {
  const rows = /** @type {[string, object | undefined][]} */ ([
    ['p99<50ms', { p99_ms: 50 }],
    ['p99<=1.5s', { p99_ms: 1500 }],
    ['success>=99.9%', { success_ratio: 0.999 }],
    ['success>=100%', { success_ratio: 1 }],
    [' p50 < 0.5ms , p99<50ms,success >= 99.9 % ', { p99_ms: 50, success_ratio: 0.999, also_ms: { p50: 0.5 } }],
    ['p90<1ms,p95<2ms,p999<3ms,mean<4ms,max<5m', { also_ms: { p90: 1, p95: 2, p999: 3, mean: 4, max: 300_000 } }],
    ['', undefined],
    ['p99', undefined],
    ['p99<50', undefined],
    ['p99<50us', undefined],
    ['p99<0ms', undefined],
    ['p99>50ms', undefined],
    ['p99>=50ms', undefined],
    ['p99=50ms', undefined],
    ['p98<50ms', undefined],
    ['P99<50ms', undefined],
    ['toString<50ms', undefined],
    ['p99<50ms,', undefined],
    ['p99<50ms p50<5ms', undefined],
    ['p99<50ms,p99<60ms', undefined],
    ['success>=99%,success>=98%', undefined],
    ['success<99%', undefined],
    ['success>=0%', undefined],
    ['success>=101%', undefined],
    ['success>=0.99', undefined],
    ['p99<1.2.3ms', undefined],
    ['p99<-5ms', undefined],
    ['p99<5 0ms', undefined],
  ])
  for (const [text, bounds] of rows) t.strictSame(boundsOf(text), bounds, text)
  for (const given of [null, 7, {}, ['p99<5ms', 'p99<6ms']]) t.equal(boundsOf(given), undefined, JSON.stringify(given))
})

t.test('an SLO in words names every bound, and no other', async (t) => {
  const rows = /** @type {[any, string][]} */ ([
    [{ p99_ms: 100, success_ratio: 1 }, 'p99 below 100 ms and 100 % successes'],
    [{ p99_ms: 1500, success_ratio: 0 }, 'p99 below 1,500 ms'],
    [
      { p99_ms: 50, success_ratio: 0.999, also_ms: { p50: 5, max: 900 } },
      'p50 below 5 ms, p99 below 50 ms, max below 900 ms and 99.9 % successes',
    ],
    [UNBOUNDED, '100 % successes'],
    [
      { ...UNBOUNDED, success_ratio: 0.9, by_entry: { read: { also_ms: { mean: 2 } }, list: { success_ratio: 0.5 } } },
      '90 % successes; read: mean below 2 ms; list: 50 % successes',
    ],
  ])
  for (const [slo, text] of rows) t.equal(sloText(slo), text)
})

t.test('the highest p99 within an SLO is its own, or follows from the other bounds', async (t) => {
  const rows = /** @type {[any, number, string][]} */ ([
    [{ p99_ms: 100 }, 100, 'as it says'],
    [{ p99_ms: 500, also_ms: { p50: 1 } }, 500, 'its own counts, however low the others are'],
    [{ p99_ms: 500, also_ms: { max: 300 } }, 300, 'p99 is no higher than max'],
    [{ ...UNBOUNDED, also_ms: { p999: 80 } }, 80, 'nor than p999'],
    [{ ...UNBOUNDED, also_ms: { p50: 5 } }, 100, 'a tail of 20 medians'],
    [{ ...UNBOUNDED, also_ms: { p50: 5, p95: 8 } }, 40, 'the lowest of several'],
    [{ ...UNBOUNDED, also_ms: { mean: 5000 } }, 10_000, 'no more than the timeout'],
    [UNBOUNDED, 10_000, 'any answer counts'],
  ])
  for (const [slo, ms, about] of rows) t.equal(highestP99(slo, 10), ms, about)
  const slos = [
    { p99_ms: 20, success_ratio: 1 },
    { p99_ms: 300, success_ratio: 1 },
  ]
  t.equal(highestP99Of({ slo: slos[0], slos, timeout_s: 10 }), 300)
  t.equal(highestP99Of({ slo: slos[0], timeout_s: 10 }), 20)
  t.strictSame(latencyBounds(UNBOUNDED), [])
})

t.test('the highest p99 of a plan is that of its most patient SLO, also of an entry', async (t) => {
  const slo = { p99_ms: 20, success_ratio: 1 }
  const rows = /** @type {[any, number, string][]} */ ([
    [{ report: { p99_ms: 3000 } }, 3000, 'an entry may take longer'],
    [{ report: { also_ms: { p50: 40 } } }, 800, 'by its other bounds'],
    [{ login: { p99_ms: 5 }, report: { p99_ms: 500 } }, 500, 'the longest of several'],
    [{ login: { p99_ms: 5 } }, 20, 'no entry is as patient'],
    [{ login: { success_ratio: 0.9 } }, 20, 'an entry without a bound on its latency adds nothing'],
  ])
  for (const [by_entry, ms, about] of rows) {
    t.equal(highestP99Of({ slo: { ...slo, by_entry }, timeout_s: 10 }), ms, about)
  }
})
