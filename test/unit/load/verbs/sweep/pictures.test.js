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

t.test('at every rate up to the knee, at least 95 % of the offered load succeeded', async (t) => {
  const { run, records } = evidence('sweep-batched')
  const [capacity] = sweepPictures({ ...run, records })
  t.match(
    capacity.about,
    'At every rate tried up to the knee, at least 95 % of the offered requests per second succeeded',
  )
  const { marks, series } = /** @type {any} */ (capacity.form)
  const knee_rps = marks.find((/** @type {any} */ { label }) => label === 'knee').at
  /** @type {[number, number][]} */
  const points = series.slice(1).flatMap((/** @type {any} */ one) => one.points)
  const rates_rps = [...new Set(points.map(([offered_rps]) => offered_rps))].filter((rate_rps) => rate_rps <= knee_rps)
  t.ok(rates_rps.length > 1)
  for (const rate_rps of rates_rps) {
    const ratios = points.filter(([offered_rps]) => offered_rps === rate_rps).map(([, done_rps]) => done_rps / rate_rps)
    t.ok(median(ratios) >= 0.95, `${rate_rps}/s`)
  }
})
