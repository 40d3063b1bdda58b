import t from 'tap'
import { seededRandom } from '../../../../load/random.js'
import { comparePictures } from '../../../../tuning/compare/pictures.js'
import { compareText } from '../../../../tuning/compare/tables.js'
import { fitLaw, predictedRate } from '../../../../tuning/compare/usl.js'
import { PLAN, runOf } from '../../../support/made-up/compare.js'

t.test('the law foretells no peak beyond what was measured, and leaves refusals out', async (t) => {
  const text = (/** @type {number} */ kappa_ratio, refused = false) => {
    const law = { lambda_rps: 100, sigma_ratio: 0, kappa_ratio }
    const records = runOf({ noise: 0 }).map((record) => {
      const { connections } = record.load
      const goodput_rps = predictedRate(law, connections)
      const status = refused && connections === 100 ? { 201: 1, 429: goodput_rps } : record.traffic.status
      const completed = refused && connections === 100 ? goodput_rps : record.traffic.completed
      return { ...record, traffic: { ...record.traffic, goodput_rps, completed, status } }
    })
    return compareText({ plan: PLAN }, records)
  }
  t.match(text(1 / 50 ** 2), /\/s at 50 workers/)
  t.match(text(1 / 1000 ** 2), /none in sight/)
  t.notMatch(text(1 / 1000 ** 2), /at 1,000 workers/)
  t.match(text(1 / 50 ** 2, true), /fewer than three levels/)
  const falling = fitLaw(
    [1, 2, 5, 10, 50].map((n) => {
      return { concurrency: n, rps: predictedRate({ lambda_rps: 100, sigma_ratio: 2, kappa_ratio: 0.01 }, n) }
    }),
  )
  t.match(falling, { peak_concurrency: 1, limit_rps: null }, 'with more contention than work it only falls')
})

t.test('what was measured lies on the fitted curve, in both pictures', async (t) => {
  const law = { lambda_rps: 100, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  const records = runOf({ noise: 0 }).map((record) => {
    const { connections } = record.load
    const goodput_rps = predictedRate(law, connections)
    const ok_latency_ms = { ...record.traffic.ok_latency_ms, mean: (1000 * connections) / goodput_rps }
    const status = { 201: record.traffic.completed }
    return { ...record, traffic: { ...record.traffic, goodput_rps, ok_latency_ms, status } }
  })
  const pictures = comparePictures({ plan: PLAN }, records)
  for (const name of ['latency', 'rate']) {
    const form = pictures.find((picture) => picture.name === name)?.form
    if (form?.kind !== 'xy') throw new Error(`expected a picture ${name}`)
    for (const side of ['A', 'B']) {
      const [points, curve] = [side, `${side}, fitted`].map(
        (of) => form.series.find((one) => one.name === of)?.points ?? [],
      )
      t.equal(points.length, 3)
      for (const [workers, value] of points) {
        const near = curve.find(([x]) => Math.abs(x / workers - 1) < 1e-9)
        t.ok(near && Math.abs(near[1] / value - 1) < 0.001, `${name} of ${side} at ${workers}: ${near?.[1]}, ${value}`)
      }
    }
  }
})

t.test('the scalability law gives its coefficients back', async (t) => {
  const law = { lambda_rps: 1000, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  const levels = [1, 2, 5, 10, 20, 50, 100]
  const exact = fitLaw(levels.map((n) => ({ concurrency: n, rps: predictedRate(law, n) })))
  t.ok(
    exact &&
      Math.abs(exact.lambda_rps - 1000) < 0.01 &&
      Math.abs(exact.sigma_ratio - 0.05) < 1e-6 &&
      Math.abs(exact.kappa_ratio - 0.0005) < 1e-8,
  )
  t.ok(Math.abs(Number(exact?.peak_concurrency) - Math.sqrt(0.95 / 0.0005)) < 0.01)
  const random = seededRandom(9)
  const noisy = fitLaw(
    [...levels, ...levels, ...levels].map((n) => ({
      concurrency: n,
      rps: predictedRate(law, n) * (0.97 + 0.06 * random()),
    })),
  )
  t.ok(
    noisy && Math.abs(noisy.sigma_ratio - 0.05) < 0.01 && Math.abs(noisy.kappa_ratio - 0.0005) < 0.0001,
    JSON.stringify(noisy),
  )
  const linear = fitLaw(levels.map((n) => ({ concurrency: n, rps: 10 * n })))
  t.match(linear, { peak_concurrency: null, limit_rps: null })
  const amdahl = fitLaw(levels.map((n) => ({ concurrency: n, rps: predictedRate({ ...law, kappa_ratio: 0 }, n) })))
  t.ok(amdahl && Math.abs(Number(amdahl.limit_rps ?? amdahl.peak_rps) - 20_000) < 200, JSON.stringify(amdahl))
  t.equal(
    fitLaw([1, 10, 10].map((n) => ({ concurrency: n, rps: n }))),
    null,
    'two levels tell nothing of three coefficients',
  )
})
