import { figureOf } from '../../stats/spread.js'
import { MEASURES } from './figures.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Compared } from './figures.js'
 * @import { Source } from './report.js'
 */

/** More rows than these are shown by a table alone. */
const MOST_ROWS = 30

/** The capacities of runs side by side, and what was achieved at each rate. @param {Source[]} sources @returns {Picture[]} */
export function capacityPictures(sources) {
  const values = sources.map(({ run }) => {
    const { low_rps: low, high_rps: high } = run.capacity ?? {}
    if (low && high) return { value: (low + high) / 2, low, high }
    return low || high ? { value: low ?? high } : null
  })
  const series = sources.map(({ name, records }) => ({
    name,
    as: /** @type {const} */ ('dots'),
    points: records.flatMap(({ load, traffic, outcome, cell }) => {
      const isOwn = load.rate_rps !== null && cell === null && outcome.verdict !== 'invalid'
      return isOwn ? [/** @type {[number, number]} */ ([Number(load.rate_rps), traffic.goodput_rps])] : []
    }),
  }))
  /** @type {Picture} */
  const capacities = {
    name: 'capacities',
    title: 'Capacities',
    about: 'The interval of each run. Two that overlap are tied.',
    form: {
      kind: 'dots',
      x: { title: 'requests per second', unit: 'rate', min: 0 },
      labels: sources.map(({ name, run }) => `${name}: ${run.run_id}`),
      series: [{ name: 'capacity', values }],
    },
  }
  /** @type {Picture} */
  const achieved = {
    name: 'achieved',
    title: 'Achieved against offered',
    about: 'Every valid trial of an open loop.',
    form: {
      kind: 'xy',
      x: { title: 'offered per second', unit: 'rate' },
      y: { title: 'successes per second', unit: 'rate' },
      series,
    },
  }
  return [
    ...(values.some((value) => value !== null) ? [capacities] : []),
    ...(series.some(({ points }) => points.length > 0) ? [achieved] : []),
  ]
}

/** The ratios of each measure to the first run. @param {Source[]} sources @param {Compared} compared @returns {Picture[]} */
export function ratioPictures([first, ...others], { figures }) {
  return Object.entries(MEASURES).flatMap(([measure, { title, better }]) => {
    const own = figures.filter((figure) => {
      return figure.measure === measure && figure.ratios.some(({ low }) => Number.isFinite(low))
    })
    if (own.length === 0 || own.length > MOST_ROWS) return []
    const series = others.map(({ name }, i) => ({ name, values: own.map(({ ratios }) => figureOf(ratios[i])) }))
    return {
      name: `ratios-${measure}`,
      title: `Compared with ${first.name}: ${title}`,
      about: `Ratios to ${first.name}, with intervals if there are enough trials; ${better} is better, and an interval that contains 1 is a tie.`,
      form: {
        kind: 'dots',
        x: { title: `ratio to ${first.name}`, unit: 'ratio', log: true },
        labels: own.map(({ group }) => group),
        series,
        reference: 1,
      },
    }
  })
}
