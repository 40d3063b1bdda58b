import t from 'tap'
import { seededRandom } from '../../../../../load/system/random.js'
import { answerOf, evenEndpoints, unevenEndpoints } from '../../../../../tuning/experiments/balance/endpoints.js'

t.test('endpoints are uneven by design, as many as were asked for', async (t) => {
  const names = (/** @type {number} */ count, /** @type {number} */ slow) => {
    return unevenEndpoints(count, { count: slow, extra_ms: 250 }).map(({ name }) => name)
  }
  t.strictSame(names(6, 1), ['cached', 'cold', 'half-cached', 'slow', 'erring', 'recovering'])
  t.strictSame(names(4, 1), ['cached', 'slow', 'erring', 'recovering'])
  t.strictSame(names(8, 2), ['cached', 'cold', 'half-cached', 'cached-2', 'slow', 'slow-2', 'erring', 'recovering'])
  const [cached, cold, , slow, erring] = unevenEndpoints(6, { count: 1, extra_ms: 250 })
  const random = seededRandom(3)
  const of = (/** @type {typeof cached} */ endpoint, failing = false) => {
    return Array.from({ length: 2000 }, () => answerOf(endpoint, { failing, random }))
  }
  t.ok(of(cold).every(({ latency_ms }) => latency_ms >= 250 && latency_ms <= 600))
  t.ok(of(slow).every(({ latency_ms }) => latency_ms >= 300 && latency_ms <= 850))
  const fast = of(cached).filter(({ latency_ms }) => latency_ms <= 120).length / 2000
  t.ok(Math.abs(fast - 0.9) < 0.03, `${fast} cached`)
  const errors = of(erring).filter(({ status }) => status === 503).length / 2000
  t.ok(Math.abs(errors - 0.2) < 0.04, `${errors} errors`)
  t.ok(of(cached, true).every(({ status, latency_ms }) => status === 503 && latency_ms <= 5))
})

t.test('even endpoints are alike, but for the last one, which fails', async (t) => {
  const endpoints = evenEndpoints(3)
  t.strictSame(
    endpoints.map(({ name, fails }) => [name, fails]),
    [
      ['healthy-1', false],
      ['healthy-2', false],
      ['failing', true],
    ],
  )
})
