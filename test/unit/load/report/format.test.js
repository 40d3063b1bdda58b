import t from 'tap'
import { decimal, milliseconds, percent } from '../../../../load/report/format.js'

t.test('a percentage is rounded down, so that only 1 is 100 %, and a product of floats costs it nothing', (t) => {
  for (const [ratio, text] of /** @type {[number, string][]} */ ([
    [1, '100 %'],
    [0.999_999_99, '99.99 %'],
    [0.0003, '0.03 %'],
    [0.819, '81.90 %'],
    [40_044 / 1_882_048, '2.12 %'],
    [0, '0.00 %'],
  ])) {
    t.equal(percent(ratio), text)
  }
  const wrong = Array.from({ length: 10_000 }, (_, i) => i).filter(
    (i) => percent(i / 10_000) !== `${(i / 100).toFixed(2)} %`,
  )
  t.strictSame(wrong, [])
  t.end()
})

t.test('a latency that is not a number of milliseconds is shown as none', async (t) => {
  for (const ms of /** @type {any[]} */ ([undefined, null, Number.NaN, Number.POSITIVE_INFINITY])) {
    t.equal(milliseconds(ms), '–', String(ms))
  }
  t.equal(milliseconds(1500), '1.50 s')
})

t.test('a difference that rounds to zero has no sign', async (t) => {
  t.equal(decimal(-0.04, 1), '0.0')
  t.equal(decimal(-0, 3, 0), '0')
  t.equal(decimal(-0.06, 1), '-0.1')
})
