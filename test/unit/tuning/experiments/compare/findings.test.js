import t from 'tap'
import { findingsOf } from '../../../../../tuning/experiments/compare/findings.js'
import { comparePictures } from '../../../../../tuning/experiments/compare/pictures.js'
import { predictedRate } from '../../../../../tuning/stats/usl.js'
import { PLAN, runOf, textOf } from '../../../../support/made-up/compare.js'

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
    return textOf(records)
  }
  t.match(text(1 / 50 ** 2), /\/s at 50 workers/)
  t.match(text(1 / 1000 ** 2), /none in sight/)
  t.notMatch(text(1 / 1000 ** 2), /at 1,000 workers/)
  t.match(text(1 / 50 ** 2, true), /fewer than three levels/)
})

t.test('what was measured lies on the fitted curve', async (t) => {
  const law = { lambda_rps: 100, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  const records = runOf({ noise: 0 }).map((record) => {
    const { connections } = record.load
    const goodput_rps = predictedRate(law, connections)
    const ok_latency_ms = { ...record.traffic.ok_latency_ms, mean: (1000 * connections) / goodput_rps }
    const status = { 201: record.traffic.completed }
    return { ...record, traffic: { ...record.traffic, goodput_rps, ok_latency_ms, status } }
  })
  const form = comparePictures(findingsOf(PLAN, records)).find(({ name }) => name === 'latency')?.form
  if (form?.kind !== 'xy') throw new Error('expected a picture of latencies')
  for (const side of ['A', 'B']) {
    const [points, curve] = [side, `${side}, fitted`].map(
      (of) => form.series.find((one) => one.name === of)?.points ?? [],
    )
    t.equal(points.length, 3)
    for (const [workers, value] of points) {
      const near = curve.find(([x]) => Math.abs(x / workers - 1) < 1e-9)
      t.ok(near && Math.abs(near[1] / value - 1) < 0.001, `${side} at ${workers}: ${near?.[1]}, ${value}`)
    }
  }
})
