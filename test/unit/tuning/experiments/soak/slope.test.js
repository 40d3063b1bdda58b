import t from 'tap'
import { slopeOf, stretchesOf } from '../../../../../tuning/experiments/soak/slope.js'
import { soak } from '../../../../../tuning/experiments/soak/soak.js'

t.test('a slope is that of the stretches between jumps', async (t) => {
  const rising = Array.from({ length: 10 }, (_, i) => /** @type {[number, number]} */ ([i * 10, 100 + i]))
  const slope = (/** @type {[number, number][]} */ points) => Number(slopeOf(stretchesOf(points, 8)).slope?.toFixed(6))
  t.equal(slope(rising), 0.1)
  const jumping = rising.map(
    ([x, y]) => /** @type {[number, number]} */ ([x, y + (x > 30 ? 50 : 0) - (x > 60 ? 20 : 0)]),
  )
  t.strictSame(
    stretchesOf(jumping, 8).map(({ length }) => length),
    [4, 3, 3],
  )
  t.equal(slope(jumping), 0.1, 'neither a jump up nor one down counts')
  t.equal(slope(jumping.map(([x, y]) => [x, y - x / 10])), 0, 'nor do they hide that nothing grows')
  t.equal(slopeOf([rising.slice(0, 3)]).slope, null)
  t.strictSame(slopeOf(rising.map((point) => [point])), { slope: null, interval: null }, 'nothing but jumps')
})

t.test('the interval of a slope contains the slope despite jumps, and needs six pairs of points', async (t) => {
  const noisy = Array.from({ length: 24 }, (_, i) => {
    return /** @type {[number, number]} */ ([i * 10, 100 + i + ((i * 7) % 5) / 10])
  })
  const { low, high } = slopeOf([noisy]).interval ?? { low: Number.NaN, high: Number.NaN }
  t.ok(low > 0.09 && low < 0.1 && high > 0.1 && high < 0.11, `${low} to ${high}`)
  const jumping = noisy.map(([x, y], i) => /** @type {[number, number]} */ ([x, y + (i >= 12 ? 50 : 0)]))
  const apart = slopeOf(stretchesOf(jumping, 8)).interval ?? { low: Number.NaN, high: Number.NaN }
  t.ok(apart.low < 0.1 && apart.high > 0.1 && apart.high - apart.low < 0.05, 'a jump does not count')
  t.equal(slopeOf([noisy.slice(0, 11)]).interval, null)
  t.equal(slopeOf(noisy.map((point) => [point])).interval, null, 'nothing but jumps')
})

t.test('without a slope there is no answer, and run.json keeps what was found', async (t) => {
  const few = soak.analyse({ ...PLAN, samples: 4 }, samplesOf('PPPP'), {})
  t.equal(few.problem, 'too few samples for a slope of memory and files: give a longer --duration')
  const none = { per_hour: null, low_per_hour: null, high_per_hour: null, jumps: [] }
  t.strictSame(few.kept?.growths, [
    { what: 'memory', unit: 'MiB', ...none },
    { what: 'files', unit: 'files', ...none },
  ])
  const records = samplesOf('P'.repeat(20)).map((record, i) => {
    const started_at = new Date(10_000 * i).toISOString()
    return { ...record, started_at, probes: { api: { rss_bytes: (100 + i) * 2 ** 20, open_files: 30 } } }
  })
  const { problem, kept } = soak.analyse(PLAN, records, {})
  t.equal(problem, null)
  t.strictSame(kept?.growths, [
    { what: 'memory', unit: 'MiB', per_hour: 360, low_per_hour: 360, high_per_hour: 360, jumps: [] },
    { what: 'files', unit: 'files', per_hour: 0, low_per_hour: 0, high_per_hour: 0, jumps: [] },
  ])
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

t.test('a leak that makes every sample larger is no row of jumps', async (t) => {
  const records = samplesOf('P'.repeat(10)).map((record, i) => {
    return { ...record, probes: { api: { rss_bytes: (100 + 16 * i) * 2 ** 20, open_files: 30 } } }
  })
  const [said] = /** @type {any[]} */ (soak.report(soak.analyse(PLAN, records, {})))
  t.match(said.text, 'Memory (RSS): between 100 and 244 MiB, slope 57600.0 MiB per hour. Open')
})

t.test('the start does not count, and the jumps are listed', async (t) => {
  const mib = [500, 500, 100, 101, 102, 152, 153, 154, 134, 135]
  const records = samplesOf('P'.repeat(10)).map((record, i) => {
    return { ...record, probes: { api: { rss_bytes: mib[i] * 2 ** 20, open_files: 30 } } }
  })
  const [said] = /** @type {any[]} */ (soak.report(soak.analyse(PLAN, records, {})))
  t.match(
    said.text,
    'Memory (RSS): between 100 and 500 MiB, slope 3600.0 MiB per hour, apart from jumps (+50, −20 MiB). Open files: between 30 and 30, slope 0.0 per hour.',
  )
})

t.test('an interruption takes no samples away: each process has a start and a level of its own', async (t) => {
  const mibOf = (/** @type {number} */ i) => (i < 20 ? 100 + i : 64)
  const records = samplesOf('P'.repeat(21)).map((record, i) => ({
    ...record,
    started_at: new Date(10_000 * i).toISOString(),
    target: { pid: i < 20 ? 1 : 2 },
    probes: { api: { rss_bytes: mibOf(i) * 2 ** 20, open_files: 30 } },
  }))
  const [said] = /** @type {any[]} */ (soak.report(soak.analyse(PLAN, records, {})))
  t.match(
    said.text,
    'Memory (RSS): between 64 and 119 MiB, slope 360.0 MiB per hour (95 % interval: 360.0 to 360.0). Open',
  )
})
