import { isValid } from '../../../load/capacity/ladder.js'
import { cellName } from '../../../load/report/format.js'
import { nearCapacity } from '../../../load/verbs/sweep/answer.js'
import { CONFIDENCE } from '../../stats/effects.js'
import { median, shift } from '../../stats/ranks.js'

/**
 * @import { Source } from './report.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/**
 * Figures that are compared between trials that were alike.
 *
 * @type {Record<string, { title: string, better: 'more' | 'less', value: (record: TrialRecord) => number | undefined }>}
 */
export const MEASURES = {
  goodput: { title: 'successes per second', better: 'more', value: ({ traffic }) => traffic.goodput_rps },
  p50: { title: 'p50, ms', better: 'less', value: ({ traffic }) => traffic.latency_ms?.p50 },
  p99: { title: 'p99, ms', better: 'less', value: ({ traffic }) => traffic.latency_ms?.p99 },
  cpu: { title: 'CPU us per request', better: 'less', value: ({ probes }) => probes.api?.cpu_us_per_request },
}

const NEAR = 'near its capacity'

/** Fields of a place that tell its repetitions apart. */
const REPETITION = ['block', 'position']

/**
 * A ratio to the first run.
 *
 * @typedef {object} Ratio
 * @property {number} ratio
 * @property {number | null} low null: too few trials for an interval, or an end that is not known
 * @property {number | null} high
 * @property {'better' | 'worse' | 'tied' | 'too few trials' | 'at least' | 'at most'} verdict
 *
 * @typedef {object} Figure
 * @property {string} group trials that were alike
 * @property {string} measure of MEASURES
 * @property {number[]} medians a run each
 * @property {number[]} trials
 * @property {Ratio[]} ratios of every run but the first
 *
 * @typedef {object} Compared
 * @property {(Ratio | null)[] | null} capacities ratios of every run but the first; null: the verb measures none
 * @property {Figure[]} figures
 *
 * @param {Source[]} sources
 * @returns {Compared}
 */
export function besideEachOther(sources) {
  const [first, ...others] = sources.map(({ run }) => run)
  const capacities = first.verb === 'sweep' ? others.map((run) => capacityRatio(first.capacity, run.capacity)) : null
  return { capacities, figures: figuresOf(sources) }
}

/**
 * The ratio of two capacities, from the ends of their intervals: tied where these overlap.
 *
 * @param {Bounds | null} reference
 * @param {Bounds | null} other
 * @returns {Ratio | null}
 *
 * @typedef {{ low_rps: number | null, high_rps: number | null }} Bounds
 */
export function capacityRatio(reference, other) {
  if (!reference || !other) return null
  const [a, b] = [reference, other].map(({ low_rps, high_rps }) => {
    const middle = ((low_rps ?? Number(high_rps)) + (high_rps ?? Number(low_rps))) / 2
    return { low: low_rps ?? 0, high: high_rps ?? Number.POSITIVE_INFINITY, middle }
  })
  const [low, high] = [b.low / a.high, a.low === 0 ? Number.POSITIVE_INFINITY : b.high / a.low]
  const verdict = low > 1 ? 'better' : high < 1 ? 'worse' : 'tied'
  return { ratio: b.middle / a.middle, low, high: Number.isFinite(high) ? high : null, verdict }
}

/** @param {Source[]} sources @returns {Figure[]} of what every run has */
function figuresOf(sources) {
  const grouped = sources.map(({ run, records }) => {
    const groups = groupsOf(run.verb, records)
    return run.verb === 'sweep' ? groups.set(NEAR, nearCapacity(run.capacity ?? null, records)) : groups
  })
  const names = [...grouped[0].keys()].filter((name) => grouped.every((own) => own.has(name)))
  return names.flatMap((group) =>
    Object.entries(MEASURES).flatMap(([measure, { value, better }]) => {
      const samples = grouped.map((own) => {
        // Ratios are of logarithms.
        return (own.get(group) ?? []).map((record) => Number(value(record))).filter((one) => one > 0)
      })
      // Near their capacities the runs have different rates, but the cost of a request can still be compared.
      if (samples.some((sample) => sample.length === 0) || (group === NEAR && measure !== 'cpu')) return []
      const [first, ...others] = samples
      return [
        {
          group,
          measure,
          medians: samples.map(median),
          trials: samples.map((sample) => sample.length),
          ratios: others.map((sample) => ratioOf(sample, first, better)),
        },
      ]
    }),
  )
}

/** Valid trials that were alike, in the order in which they first came. @param {string} verb @param {TrialRecord[]} records */
function groupsOf(verb, records) {
  /** @type {Map<string, TrialRecord[]>} */
  const groups = new Map()
  for (const record of records) {
    // The rates of a search differ in each run.
    if (!isValid(record) || record.at.of !== undefined) continue
    const key = groupOf(verb === 'sweep' ? '' : placeOf(record), record)
    groups.set(key, [...(groups.get(key) ?? []), record])
  }
  return groups
}

/** A trial's place in its design, without its repetition. @param {TrialRecord} record */
function placeOf({ at }) {
  const names = Object.keys(at).filter((name) => !REPETITION.includes(name))
  return names.map((name) => at[name]).join('/')
}

/** What was asked for. @param {string} place empty for a sweep, whose rates tell its trials apart @param {TrialRecord} record */
function groupOf(place, { cell, load }) {
  const rate = place === '' ? `${load.rate_rps}/s` : ''
  const size = load.rate_rps === null ? `${load.connections} connections` : rate
  return [place, cellName(cell), size].filter(Boolean).join(', ')
}

/** @param {number[]} sample @param {number[]} reference @param {'more' | 'less'} better @returns {Ratio} */
function ratioOf(sample, reference, better) {
  const { estimate, low, high } = shift(sample.map(Math.log), reference.map(Math.log), CONFIDENCE)
  if (!Number.isFinite(high)) return { ratio: Math.exp(estimate), low: null, high: null, verdict: 'too few trials' }
  const tied = low <= 0 && high >= 0
  const verdict = tied ? 'tied' : estimate > 0 === (better === 'more') ? 'better' : 'worse'
  return { ratio: Math.exp(estimate), low: Math.exp(low), high: Math.exp(high), verdict }
}
