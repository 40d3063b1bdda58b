import { count } from '../../../load/report/format.js'
import { spreadOf } from '../../stats/picture-values.js'
import { CONTENDERS } from './contenders.js'
import { kindOf } from './steps.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 */

/** @typedef {TrialRecord[]} Records */

/**
 * The servers beside each other, as fast as they go.
 *
 * @param {any} _
 * @param {Records} records
 * @returns {Picture[]}
 */
export function benchPictures(_, records) {
  const names = CONTENDERS.map(({ name }) => name).filter((name) => closed(records, name).length > 0)
  if (names.length === 0) return []
  const spreads = (/** @type {(record: Records[0]) => number} */ value) => [
    { name: 'median', values: names.map((name) => spreadOf(closed(records, name).map(value))) },
  ]
  return [
    {
      name: 'inserts',
      title: 'Inserts per second, as fast as it goes',
      about: 'Closed loop; medians of the blocks, from the least to the most. no-op and json store nothing.',
      form: {
        kind: 'dots',
        bars: true,
        x: { title: 'inserts per second', unit: 'rate', min: 0 },
        labels: names,
        series: spreads(({ traffic }) => traffic.goodput_rps),
      },
    },
    {
      name: 'cpu',
      title: 'CPU per insert',
      about: "CPU of the service's process in the same loops: less is better.",
      form: {
        kind: 'dots',
        bars: true,
        x: { title: 'us per insert', unit: 'us', min: 0 },
        labels: names,
        series: spreads(({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN),
      },
    },
  ]
}

/** @param {any} run @param {Records} records */
export function benchSentence({ problem }, records) {
  const stored = CONTENDERS.filter(({ kind }) => kind !== 'floor').flatMap(({ name, about }) => {
    const value = spreadOf(closed(records, name).map(({ traffic }) => traffic.goodput_rps))?.value
    return value === undefined ? [] : [{ name, about, value }]
  })
  const sorted = stored.sort((a, b) => b.value - a.value)
  const [best, next] = sorted.map(({ name, about, value }) => `${name} (${about}), ${count(Math.round(value))}/s`)
  const found = best ? `Most inserts in a closed loop: ${best}${next ? `; then ${next}` : ''}.` : 'Nothing was stored.'
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${found}`
}

/** @param {Records} records @param {string} name */
function closed(records, name) {
  return records.filter(({ cell, experiment, outcome }) => {
    return cell === name && kindOf(experiment) === 'saturation' && outcome.verdict !== 'invalid'
  })
}
