import { MEASURES } from './figures.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Compared } from './figures.js'
 * @import { Source } from './report.js'
 */

/** More rows than these are for the table. */
const MOST_ROWS = 30

/** @param {Source[]} sources @returns {Picture[]} */
export function capacityPictures(sources) {
  return [...capacitiesPicture(sources), ...achievedPicture(sources)]
}

/** @param {Source[]} sources @param {Compared} compared @returns {Picture[]} */
export function ratioPictures(sources, compared) {
  return Object.keys(MEASURES).flatMap((measure) => ratiosPicture(sources, compared, measure))
}

/** @param {Source[]} sources @returns {Picture[]} */
function capacitiesPicture(sources) {
  const values = sources.map(({ run }) => {
    const { low_rps, high_rps } = run.capacity ?? {}
    if (low_rps && high_rps) return { value: (low_rps + high_rps) / 2, low: low_rps, high: high_rps }
    return low_rps || high_rps ? { value: low_rps ?? high_rps } : null
  })
  if (values.every((value) => value === null)) return []
  return [
    {
      name: 'capacities',
      title: 'Capacities',
      about: 'The interval of each run. Where two overlap, they are tied.',
      form: {
        kind: 'dots',
        x: { title: 'requests per second', unit: 'rate', min: 0 },
        labels: sources.map(({ name, run }) => `${name}: ${run.run_id}`),
        series: [{ name: 'capacity', values }],
      },
    },
  ]
}

/** @param {Source[]} sources @returns {Picture[]} */
function achievedPicture(sources) {
  const series = sources.map(({ name, records }) => ({
    name,
    as: /** @type {const} */ ('dots'),
    points: records.flatMap(({ load, traffic, outcome, cell }) => {
      const isOwn = load.rate_rps !== null && cell === null && outcome.verdict !== 'invalid'
      return isOwn ? [/** @type {[number, number]} */ ([Number(load.rate_rps), traffic.goodput_rps])] : []
    }),
  }))
  if (series.every(({ points }) => points.length === 0)) return []
  return [
    {
      name: 'achieved',
      title: 'Achieved against offered',
      about: 'Every valid trial of an open loop.',
      form: {
        kind: 'xy',
        x: { title: 'offered per second', unit: 'rate' },
        y: { title: 'successes per second', unit: 'rate' },
        series,
      },
    },
  ]
}

/** @param {Source[]} sources @param {Compared} compared @param {string} measure @returns {Picture[]} */
function ratiosPicture(sources, { figures }, measure) {
  const own = figures.filter((figure) => {
    return figure.measure === measure && figure.ratios.some(({ low }) => low !== null)
  })
  if (own.length === 0 || own.length > MOST_ROWS) return []
  const { title, better } = MEASURES[measure]
  const [first, ...others] = sources
  return [
    {
      name: `ratios-${measure}`,
      title: `Beside ${first.name}: ${title}`,
      about: `Ratios to ${first.name} with their intervals, where there are trials enough for one; ${better} is better, and what holds 1 is tied.`,
      form: {
        kind: 'dots',
        x: { title: `ratio to ${first.name}`, unit: 'ratio', log: true },
        labels: own.map(({ group }) => group),
        series: others.map(({ name }, i) => ({
          name,
          values: own.map(({ ratios }) => {
            const { ratio, low, high } = ratios[i]
            return low === null || high === null ? { value: ratio } : { value: ratio, low, high }
          }),
        })),
        reference: 1,
      },
    },
  ]
}
