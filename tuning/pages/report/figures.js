import { isValid } from '../../../load/capacity/ladder.js'
import { cellName } from '../../../load/report/format.js'
import { nearCapacity } from '../../../load/verbs/sweep/answer.js'
import { median, shift } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { CONFIDENCE } from '../../stats/effects.js'

/**
 * @import { Capacity, Limit, TrialRecord } from '../../../load/report/record.js'
 * @import { Source } from './report.js'
 */

/**
 * Figures that are compared between trials with the same cell and load.
 * @type {Record<string, { title: string, better: 'more' | 'less', value: (record: TrialRecord) => number | undefined }>}
 */
export const MEASURES = {
  goodput: { title: 'successes per second', better: 'more', value: ({ traffic }) => traffic.goodput_rps },
  p50: { title: 'p50, ms', better: 'less', value: ({ traffic }) => traffic.latency_ms?.p50 },
  p99: { title: 'p99, ms', better: 'less', value: ({ traffic }) => traffic.latency_ms?.p99 },
  cpu: { title: 'CPU us per request', better: 'less', value: ({ probes }) => probes.api?.cpu_us_per_request },
}

const NEAR = 'near its capacity'

/** Fields of a place that number its repetitions. */
const REPETITION = ['block', 'position']

/**
 * Answers of runs, and their capacities and figures, each with its ratios to the first run; capacities are null if the verb measures none.
 * @param {Source[]} sources
 * @typedef {ReturnType<typeof besideEachOther>} Compared
 * @typedef {ReturnType<typeof answerOf>} Answer
 * @typedef {Compared['figures'][number]} Figure
 * @typedef {ReturnType<typeof ratioOf>} Ratio
 */
export function besideEachOther(sources) {
  const answers = sources.map(answerOf)
  const [first, ...others] = answers.map(trustedCapacity)
  const capacities = sources[0].run.verb === 'sweep' ? others.map((one) => capacityRatio(first, one)) : null
  return { answers, capacities, figures: figuresOf(sources, answers) }
}

/**
 * A sweep's answer as its report gives it: an older version may have kept another interval, made from the same trials.
 * @param {Source} source @returns {{ capacity: Capacity | null, limit: Limit | null, problem: string | null }}
 */
function answerOf({ experiment, run, records }) {
  const isSweep = run.verb === 'sweep' && 'design' in experiment
  const { capacity = null, limit = null, problem = null } = isSweep ? experiment.analyse(run.plan, records, run) : run
  const interrupted = run.interrupted || !run.finished_at
  return { capacity, limit, problem: run.problem ?? (interrupted ? null : problem) }
}

/** Null if there is none to be trusted. @param {Answer} answer */
export function trustedCapacity({ capacity, problem }) {
  return problem ? null : capacity
}

/**
 * The ratio of two capacities, from the ends of their intervals: tied if these overlap.
 * @param {Bounds | null} reference @param {Bounds | null} other
 * @typedef {{ low_rps: number | null, high_rps: number | null }} Bounds
 */
export function capacityRatio(reference, other) {
  if (!reference || !other) return null
  const low = (other.low_rps ?? 0) / (reference.high_rps ?? Number.POSITIVE_INFINITY)
  const high = (other.high_rps ?? Number.POSITIVE_INFINITY) / (reference.low_rps ?? 0)
  return { low, high, verdict: low > 1 ? 'better' : high < 1 ? 'worse' : 'tied' }
}

/** The figures that every run has; medians, trials: one per run; ratios: one per run but the first. @param {Source[]} sources @param {Answer[]} answers */
function figuresOf(sources, answers) {
  const grouped = sources.map(({ run, records }, i) => {
    // The rates of a search differ in each run.
    const alike = records.filter((record) => isValid(record) && record.at.of === undefined)
    const groups = groupBy(alike, (record) => groupOf(run.verb, record))
    return run.verb === 'sweep' ? groups.set(NEAR, nearCapacity(answers[i].capacity, records)) : groups
  })
  const names = [...grouped[0].keys()].filter((name) => grouped.every((own) => own.has(name)))
  return names.flatMap((group) => {
    const records = grouped.map((own) => own.get(group) ?? [])
    // At different rates, the cost of a request can still be compared.
    const measures = group !== NEAR && isSameRate(records) ? Object.keys(MEASURES) : ['cpu']
    return measures.flatMap((measure) => {
      const { value, better } = MEASURES[measure]
      // Zero has no logarithm.
      const samples = records.map((own) => own.map((record) => Number(value(record))).filter((one) => one > 0))
      if (samples.some((sample) => sample.length === 0)) return []
      const [first, ...others] = samples
      const trials = samples.map((sample) => sample.length)
      const ratios = others.map((sample) => ratioOf(sample, first, better))
      return [{ group, measure, medians: samples.map(median), trials, ratios }]
    })
  })
}

/** Rates that differ by less are the same load. */
const SAME_RATE_RATIO = 1.01

/** Whether all runs offered the same rate, if any: shares of a run's own peak are other rates in each. @param {TrialRecord[][]} trials of each run */
function isSameRate(trials) {
  const rates = trials.map((own) => median(own.map(({ load }) => Number(load.rate_rps))))
  return Math.max(...rates) <= Math.min(...rates) * SAME_RATE_RATIO
}

/** A trial's place without its repetition, and its load; in a sweep, the rate is the place. @param {string} verb @param {TrialRecord} record */
function groupOf(verb, { at, cell, load: { rate_rps, connections } }) {
  const names = Object.keys(at).filter((name) => verb !== 'sweep' && !REPETITION.includes(name))
  const place = names.map((name) => at[name]).join('/')
  const rate = place === '' ? `${rate_rps}/s` : ''
  return [place, cellName(cell), rate_rps === null ? `${connections} connections` : rate].filter(Boolean).join(', ')
}

/** low, high: NaN with too few trials. @param {number[]} sample @param {number[]} reference @param {'more' | 'less'} better */
function ratioOf(sample, reference, better) {
  const { estimate, low, high } = shift(sample.map(Math.log), reference.map(Math.log), CONFIDENCE)
  const ratio = Math.exp(estimate)
  if (!Number.isFinite(high)) return { ratio, low: Number.NaN, high: Number.NaN, verdict: 'too few trials' }
  const tied = low <= 0 && high >= 0
  const verdict = tied ? 'tied' : estimate > 0 === (better === 'more') ? 'better' : 'worse'
  return { ratio, low: Math.exp(low), high: Math.exp(high), verdict }
}
