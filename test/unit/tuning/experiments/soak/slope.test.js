import t from 'tap'
import { slopeOf, soak } from '../../../../../tuning/experiments/soak/soak.js'

t.test('a slope is that of what follows the start', async (t) => {
  const samples = Array.from(
    { length: 10 },
    (_, i) => /** @type {[number, number]} */ ([i * 10, i < 2 ? 500 : 100 + i]),
  )
  t.equal(Number(slopeOf(samples)?.toFixed(6)), 0.1)
  t.equal(slopeOf(samples.slice(0, 3)), null)
})

/** @param {string} verdicts a letter each: pass or invalid @param {object} [api] */
function samplesOf(verdicts, api = { rss_bytes: 2 ** 26, open_files: 30 }) {
  return /** @type {any[]} */ (
    [...verdicts].map((letter, i) => ({
      started_at: `2026-01-01T00:00:0${i % 10}Z`,
      outcome: { verdict: letter === 'P' ? 'pass' : 'invalid', because: 'made up' },
      target: { pid: 1 },
      probes: { api },
      trial: i + 1,
    }))
  )
}

const PLAN = /** @type {any} */ ({ samples: 6, duration_s: 30, rates_rps: [100], connections: [8] })

t.test('invalid samples are taken again, until three in a row are', async (t) => {
  const next = (/** @type {string} */ verdicts) => soak.design(PLAN, samplesOf(verdicts), [])
  t.equal(next('PIPIPI')?.left_s, 90, 'three of six are left')
  t.equal(next('PIPII')?.left_s, 120)
  t.equal(next('PPIII'), null)
  t.equal(next('PIPIPIPPP'), null, 'all six')
  t.equal(soak.analyse(PLAN, samplesOf('PPIII'), {}).problem, '2 of 6 samples were taken')
})

t.test('where the system tells neither memory nor files, there is no answer, and no NaN', async (t) => {
  const found = soak.analyse(PLAN, samplesOf('PPPPPP', {}), {})
  t.equal(found.problem, 'this system does not tell the memory of a process')
  const [said] = /** @type {any[]} */ (soak.report(found))
  t.equal(said.text, 'Memory (RSS): not known on this system. Open files: not known on this system.')
  const known = soak.analyse(PLAN, samplesOf('PPPPPP'), {})
  t.equal(known.problem, null)
  t.match(/** @type {any} */ (soak.report(known)[0]).text, 'Memory (RSS): between 64 and 64 MiB')
})
