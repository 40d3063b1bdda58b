import t from 'tap'
import { draw } from '../../../../../load/report/chart.js'
import { secondsPicture } from '../../../../../load/report/seconds.js'
import { trialTable } from '../../../../../load/report/trials.js'
import { sweepPictures } from '../../../../../load/verbs/sweep/pictures.js'
import { median } from '../../../../../load/verdict/ranks.js'
import { evidence } from '../../../../../tuning/pages/evidence/evidence.js'

t.test('the seconds of a whole day are drawn, too', async (t) => {
  const [{ traffic, ...record }] = evidence('sweep-batched').records
  const per_second = Array.from({ length: 24 * 3600 }, () => ({ ok: 100 }))
  const load = { ...record.load, duration_s: per_second.length }
  const { form } = /** @type {any} */ (
    secondsPicture(/** @type {any} */ ([{ ...record, load, traffic: { ...traffic, per_second } }]))
  )
  t.equal(form.series.at(-1).points.length, 2 * per_second.length + 1)
  t.equal(form.y.log, false)
})

t.test('a last part of a second is not drawn: its count has answers that came after the load', async (t) => {
  const [{ traffic, ...record }] = evidence('sweep-batched').records
  const per_second = [{ ok: 100 }, { ok: 110 }, { ok: 90 }, { ok: 5 }]
  const load = { ...record.load, duration_s: 2.5 }
  const picture = secondsPicture(/** @type {any} */ ([{ ...record, load, traffic: { ...traffic, per_second } }]))
  t.equal(picture?.table?.rows[0].at(-1), '100/s, 110/s')
})

t.test('seconds of the load after the last answer are drawn as zeros', async (t) => {
  const [{ traffic, ...record }] = evidence('sweep-batched').records
  const load = { ...record.load, duration_s: 4 }
  const per_second = [{ ok: 100 }, { ok: 90 }]
  const picture = secondsPicture(/** @type {any} */ ([{ ...record, load, traffic: { ...traffic, per_second } }]))
  t.equal(picture?.table?.rows[0].at(-1), '100/s, 90/s, 0/s, 0/s')
})

t.test('trials in which suspects were slowed have neither passed nor failed', async (t) => {
  const { run, records } = evidence('sweep-batched')
  const dosed = records.filter(({ doses }) => doses)
  t.ok(dosed.length >= 6)
  const [capacity] = sweepPictures(/** @type {any} */ ({ ...run, records }))
  const { series } = /** @type {{ series: { points: [number, number][] }[] }} */ (capacity.form)
  const rates = series.flatMap(({ points }) => points.map(([rate_rps]) => rate_rps))
  const searched = records.find(({ at }) => at.phase === 'search')
  t.ok(rates.includes(Number(searched?.load.rate_rps)))
  t.notOk(rates.includes(Number(dosed[0].load.rate_rps)), 'not drawn among the outcomes')
  const { rows } = /** @type {any} */ (trialTable(records))
  t.equal(rows.filter((/** @type {string[]} */ row) => row.at(-1) === 'dosed').length, dosed.length)
  t.equal(secondsPicture(records)?.table?.rows.length, records.length - dosed.length)
})

t.test('coordinates are shortened, but not what a picture says', async (t) => {
  const x = { title: 'ratio', unit: /** @type {const} */ ('ratio'), log: true, min: 0.001, max: 10 }
  const series = [{ name: 'measured', values: [{ value: 0.0077 }] }]
  const form = { kind: /** @type {const} */ ('dots'), x, labels: ['0.0077x of 192.168.1.1'], series }
  const { one } = await draw([{ name: 'one', title: 'One', about: 'A value.', form }])
  t.match(one.wide, '>0.0077x of 192.168.1.1<')
  t.notMatch(one.wide.replace(/>[^<]*</g, '><'), /\d\.\d{3}/)
})

t.test('at every rate up to the vertical line, at least 95 % of the offered load succeeded', async (t) => {
  const { run, records } = evidence('sweep-batched')
  const [capacity] = sweepPictures({ ...run, records })
  t.match(
    capacity.about,
    'Left of the dashed vertical line, at least 95 % of the requests succeeded (the median over the trials at a rate), though perhaps too late for the SLO.',
  )
  const { marks, series } = /** @type {any} */ (capacity.form)
  const through_rps = marks.find((/** @type {any} */ { label }) => label === '95 % get through').at
  /** @type {[number, number][]} */
  const points = series.slice(1).flatMap((/** @type {any} */ one) => one.points)
  const rates_rps = [...new Set(points.map(([offered_rps]) => offered_rps))].filter(
    (rate_rps) => rate_rps <= through_rps,
  )
  t.ok(rates_rps.length > 1)
  for (const rate_rps of rates_rps) {
    const ratios = points.filter(([offered_rps]) => offered_rps === rate_rps).map(([, done_rps]) => done_rps / rate_rps)
    t.ok(median(ratios) >= 0.95, `${rate_rps}/s`)
  }
})

/** A trial of a search. @param {number} rate_rps @param {object} probes @param {object} [rest] */
function made(rate_rps, probes, rest = {}) {
  return /** @type {any} */ ({
    ...{ at: { phase: 'search' }, cell: null, outcome: { verdict: 'pass' }, target: { cores: '0' }, settings: {} },
    load: { rate_rps, duration_s: 2 },
    traffic: { goodput_rps: rate_rps, latency_ms: { p50: 1, p99: 5, max: 9 } },
    probes: { api: {}, postgres: {}, generator: {}, kernel: {}, ...probes },
    ...rest,
  })
}

/** @param {string} name of a picture @param {any[]} records @param {object} [findings] */
function pictureOf(name, records, findings = {}) {
  const plan = { slo: { p99_ms: 100, success_ratio: 1 } }
  const pictures = sweepPictures(/** @type {any} */ ({ plan, capacity: null, limit: null, records, ...findings }))
  return /** @type {any} */ (pictures.find((one) => one.name === name))
}

t.test('the picture of the resources names whose CPU it is, and shows each core as a whole', async (t) => {
  const core = (/** @type {number} */ busy_ratio) => ({ busy_ratio, interrupts_ratio: 0, steal_ratio: 0 })
  const ours = {
    api: { cpu_core_ratio: 0.5, elu_ratio: 0.4, pool_used_mean: 5 },
    postgres: { cpu_core_ratio: 0.6, cores: '1' },
    generator: { cpu_core_ratio: 0.3, cores: '1' },
    kernel: { cores: { 0: core(0.55), 1: core(0.97) } },
  }
  const namesOf = (/** @type {any} */ picture) => picture.form.series.map((/** @type {any} */ { name }) => name)
  const picture = pictureOf('resources', [made(1000, ours, { settings: { POOL_MAX: 20 } })])
  t.equal(picture.title, 'How busy each resource was')
  t.strictSame(namesOf(picture), [
    'the service (CPU)',
    "the service's event loop",
    "the service's pool",
    'Postgres (CPU)',
    'the generator (CPU)',
    'core 1, all programs',
  ])
  t.match(picture.form.y, { min: 0, max: 1 })
  t.strictSame(picture.form.series.at(-1).points, [[1000, 0.97]], 'the busiest core, if there is no room for all')
  const { api, kernel } = ours
  const url = pictureOf('resources', [made(1000, { api: { pool_used_mean: 5, pool_max: 20 }, kernel }), made(2000, {})])
  t.strictSame(namesOf(url), ["the service's pool", 'core 0, all programs'])
  t.strictSame(url.form.series[0].points, [[1000, 0.25]], 'its size from its metrics')
  const many = pictureOf('resources', [made(1000, { api: { ...api, cpu_core_ratio: 2.5 } })])
  t.equal(many.form.y.max, undefined, 'several threads use more than a core')
  const older = made(1000, { api: { cpu_core_ratio: 0.5 }, kernel: undefined, postgres: undefined })
  t.strictSame(namesOf(pictureOf('resources', [older])), ['the service (CPU)'], 'older records lack the cores')
  const here = { cores: { 0: core(0.2) } }
  const far = made(1000, { kernel, here, generator: { cores: '0' } })
  t.strictSame(namesOf(pictureOf('resources', [far])), [
    "core 0 of the service's host, all programs",
    'core 0, all programs',
  ])
})

t.test('sustained trials are left out of the picture of latencies, whose other trials are short', async (t) => {
  const sustained = made(1000, {}, { load: { rate_rps: 1000, duration_s: 60, checkpoint: true } })
  sustained.traffic = { goodput_rps: 1000, latency_ms: { p50: 50, p99: 90, max: 200 } }
  const mixed = pictureOf('latency', [made(1000, {}), sustained])
  t.strictSame(mixed.form.series[0].points, [[1000, 1]])
  t.match(mixed.about, 'Sustained trials are left out')
  t.notMatch(pictureOf('latency', [made(1000, {})]).about, 'Sustained')
})

t.test('the axis of what was offered ends beyond every trial that is drawn, valid or not', async (t) => {
  const invalid = made(5000, {}, { outcome: { verdict: 'invalid' } })
  const { form } = pictureOf('capacity', [made(1000, {}), made(2000, {}), invalid])
  t.ok(form.x.max > 5000)
  t.strictSame(form.series[0].points.at(-1), [5000, 5000], 'and so does the diagonal')
})
