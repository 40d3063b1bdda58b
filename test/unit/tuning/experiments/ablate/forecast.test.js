import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { elasticitiesOf } from '../../../../../load/verdict/proof.js'
import { planOf } from '../../../../../tuning/experiments/ablate/ablate.js'
import { agreementOf, forecastBlocks } from '../../../../../tuning/experiments/ablate/forecast.js'
import { analyse } from '../../../../../tuning/experiments/ablate/report.js'
import { durationOf, nextStep } from '../../../../../tuning/experiments/ablate/steps.js'
import { PLAN, runOf, THREE, textOf } from '../../../../support/made-up/ablate.js'
import { dosed } from '../../../../support/simulated/doses.js'
import { COSTS_US, SUM_US } from '../../../../support/simulated/stages.js'

const PROVED = { ...PLAN, proves: true }

/** @param {any} plan @param {any[]} records */
const forecasts = (plan, records) => analyse(plan, records, {}).forecasts

t.test('where the core of the service is the limit, the forecast of a stage is what its removal gains', async (t) => {
  const plan = { ...PROVED, blocks: 12 }
  const found = forecasts(plan, runOf({ plan, drift: 0.05 }))
  t.equal(found.length, PLAN.stages.length)
  for (const one of found) {
    const { stage, forecast, measured } = one
    const shared = ['commit', 'database'].includes(stage)
    t.equal(agreementOf(one), shared ? '–' : 'yes', stage)
    const truth = SUM_US / (SUM_US - COSTS_US[stage])
    for (const { low, high } of shared ? [] : [forecast, measured])
      t.ok(low < truth * 1.02 && truth * 0.98 < high, stage)
  }
  const text = textOf(plan, runOf({ plan, drift: 0.05 }))
  t.match(text, /Proof, in throughput \[95 % interval\]: slowing core 0 \(the service\) by 10 % costs \d+ % /)
  const [, low, high] = /elasticity of core 0 \(the service\), [\d.]+ \[([\d.]+)–([\d.]+)\]/.exec(text) ?? []
  t.ok(Number(low) <= 1.05 && Number(high) >= 0.95, `${low} to ${high}`)
  // The noise of a slice follows from the number of its trial: the proofs of runs of other lengths are other samples.
  const services = Array.from({ length: 20 }, (_, seed) => {
    const short = { ...PROVED, stages: ['log'], consumers: ['autocannon'], rounds: 4, blocks: seed + 1 }
    return elasticitiesOf(runOf({ plan: short, seed, drift: 0.05 })).find(({ resource }) => resource === 'api-cpu')
  })
  const holding = services.filter((one) => Number(one?.low) <= 1 && Number(one?.high) >= 1)
  // 95 %, less three standard errors of 20 runs.
  t.ok(holding.length >= 16, `in ${holding.length} of 20 runs, the interval holds 1`)
  const log = /\| log +\| +[5-7]\.\d \[.*\] % \| +(?:0\.9|1\.0)\dx .*(?: \| +1\.(?:0\d|1[0-3])x .*){2} \| +yes \|/
  t.match(text, log)
  t.match(text, /\| commit +\| .* \| +0\.[45]\dx .* \| +– \| +(?:0\.9|1\.0)\dx .* \| +– \|/)
  t.match(text, /\| database +\| .* \| +none \| +– \| +1\.[456]\dx .* \| +– \|/)
  t.match(text, /holds for work that the service alone does: not for commit and database, whose removal/)
})

t.test('the forecast and the measured gain of a stage that was slowed on purpose agree with arithmetic', async (t) => {
  const plan = { ...PROVED, stages: ['validate'], consumers: ['autocannon'], slow_us: { validate: 20 } }
  const records = runOf({ plan, drift: 0.05 })
  const [{ forecast, measured }] = forecasts(plan, records)
  for (const { ratio } of [forecast, measured])
    t.ok(Math.abs(ratio / ((SUM_US + 20) / SUM_US) - 1) < 0.02, String(ratio))
  t.match(textOf(plan, records), /\| validate \+ 20 us \| +8\.\d \[.*\] % .* 1\.\d\dx .* \| +yes \|/)
  t.match(textOf(plan, records), /the service alone does: here for every stage\./)
})

t.test('a gain that the doses did not forecast does not agree with the forecast', async (t) => {
  const plan = { ...PROVED, stages: ['log', 'read-and-parse'], blocks: 12 }
  const still = runOf({ plan, drift: 0.05 }).map((record) => {
    if (!record.doses) return record
    const { doses, ticks } = dosed(record.doses, () => 0, { noise: 0.001, seed: record.trial })
    return { ...record, doses, traffic: { ...record.traffic, ticks } }
  })
  const [log] = forecasts(plan, still)
  t.ok(log.forecast.high < 1.01 && log.measured.low > 1.02)
  t.equal(agreementOf(log), 'no')
  t.equal(agreementOf({ ...log, measured: { ...log.measured, isLimited: true } }), '–', 'the generator was the limit')
  t.equal(agreementOf({ ...log, measured: { ...log.measured, low: 0, high: Infinity } }), '–', 'too few blocks')
  const limited = [{ ...log, measured: { ...log.measured, isLimited: true } }]
  const blocks = forecastBlocks({ ...analyse(plan, still, {}), forecasts: limited })
  t.match(markdownOf(blocks), /the generator was the limit \| +– \|/)
})

t.test('the proof comes last, by the cheapest closed loop, unless it is not wanted', async (t) => {
  const plan = { ...THREE, proves: true, consumers: ['paced', 'client', 'autocannon'] }
  const records = runOf({ plan })
  const first = records.findIndex(({ at }) => at.phase === 'proof')
  const [blocks, proof] = [records.slice(0, first), records.slice(first)]
  t.equal(nextStep({ ...plan, proves: undefined }, blocks), null)
  t.strictSame([...new Set(proof.map(({ at }) => at.phase))], ['proof'])
  t.strictSame([...new Set(proof.map(({ load, cell }) => `${load.driver}, ${cell.variant}`))], ['autocannon, whole'])
  t.match(nextStep(plan, records.slice(0, first + 2)), { at: proof[2].at, load: { loop: 'closed', rate_rps: null } })
  t.equal(nextStep(plan, records), null)

  const proves = (/** @type {object} */ given) => planOf(given).proves === true
  t.strictSame([{}, { quick: true }, { 'no-proof': true }].map(proves), [true, false, false])
  const paced = { ...plan, consumers: ['paced'] }
  t.equal(nextStep(paced, runOf({ plan: paced })), null)
  t.notOk(
    runOf({ plan: paced }).some(({ at }) => at.phase === 'proof'),
    'an open loop proves nothing',
  )
  t.strictSame(forecasts(paced, runOf({ plan: paced })), [])
  t.notMatch(textOf(PLAN, runOf()), /Forecast against measured|Proof/)
})

t.test('the estimated duration of a run includes its proof', async (t) => {
  const plan = { ...planOf({ turns: 6, blocks: 1, stages: ['log'] }), consumers: ['autocannon'] }
  const records = runOf({ plan })
  const took_s = records.reduce((sum, { load }) => sum + load.warmup_s + load.duration_s + 0.45, 0)
  t.ok(Math.abs(durationOf(plan) / took_s - 1) < 0.1, `${durationOf(plan)} of ${took_s}`)
  t.ok(durationOf(plan) - durationOf({ ...plan, proves: undefined }) > 40)
  t.equal(nextStep(plan, [])?.left_s, durationOf(plan))
})

t.test('too few rounds forecast no interval, and so agree or disagree with nothing', async (t) => {
  const plan = { ...PROVED, stages: ['log', 'read-and-parse'], rounds: 4 }
  const few = forecasts(plan, runOf({ plan, drift: 0.05 }))
  t.equal(few.length, 2)
  for (const one of few) {
    const { low, high } = one.forecast
    t.strictSame([low, high, agreementOf(one)], [0, Number.POSITIVE_INFINITY, '–'])
  }
})
