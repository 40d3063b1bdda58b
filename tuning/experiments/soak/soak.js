import { isValid, MAX_INVALID } from '../../../load/capacity/ladder.js'
import { durationFlag, numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { answer, drawn } from '../../../load/report/blocks.js'
import { xyPicture } from '../../../load/report/picture.js'
import { localPlan } from '../../../load/run/plan.js'
import { median } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { CONFIDENCE } from '../../stats/effects.js'
import { slopeOf, stretchesOf } from './slope.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Plan, Step, TrialRecord } from '../../../load/report/record.js'
 * @import { Point } from './slope.js'
 */

const DEFAULTS = { duration: 30 * 60_000, rate: 2000, connections: 64, seed: 1 }
const QUICK = { duration: 90_000 }

/** The load is divided into trials, each a sample. The first fifth of a process's samples is its start, which the slope ignores. */
const SAMPLE_S = { usual: 30, quick: 10 }
/** As many as a slope needs, even after an interruption in the first sample. */
const MIN_SAMPLES = 6
const START_SHARE = 0.2

/** Does anything grow that should not? Memory and open files under a steady load, and their slope. @type {Experiment<SoakPlan>} */
export const soak = {
  name: 'soak',
  about: 'does memory or the number of open files grow under a steady load?',
  flags: {
    duration: durationFlag(`duration of the whole load (default ${DEFAULTS.duration / 60_000}m)`),
    quick: switchFlag('a minute and a half, in samples of 10s'),
    rate: numberFlag(`requests/s, open loop (default ${DEFAULTS.rate})`, 1, 100_000),
    seed: seedFlag(`seed of the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run soak                      half an hour
  npm run soak -- --quick
  npm run soak -- --duration 5m --rate 5000`,
  plan(flags) {
    const { duration: duration_ms, rate, connections, seed } = { ...DEFAULTS, ...(flags.quick && QUICK), ...flags }
    const sample_s = SAMPLE_S[flags.quick ? 'quick' : 'usual']
    const samples = Math.max(MIN_SAMPLES, Math.round(duration_ms / 1000 / sample_s))
    const plan = localPlan({ seed, duration_s: duration_ms / 1000 / samples })
    return { ...plan, rates_rps: [rate], connections: [connections], samples }
  },
  design,
  analyse(plan, records) {
    const growths = records.length === 0 ? [] : SHOWN.map((shown) => growthOf(shown, records))
    return {
      problem: problemOf(plan, records) ?? slopeProblem(growths),
      kept: { growths: growths.map(keptGrowth) },
      growths,
    }
  },
  report: ({ growths }) => [
    answer(growths.length === 0 ? 'Nothing was measured.' : growths.map(growthText).join(' ')),
    ...growths.map((/** @type {Growth} */ { what, name, y, points }) => {
      const x = /** @type {const} */ ({ title: 'seconds since the start', unit: 's' })
      const form = { x, y, series: [{ name: y.title, points, as: /** @type {const} */ ('both') }] }
      return drawn(xyPicture(what, `${name} over time`, `${name} of the service at the end of each sample.`, form))
    }),
  ],
}

/** @typedef {Plan & { samples: number }} SoakPlan */

/** @param {SoakPlan} plan @param {TrialRecord[]} records @returns {Step | null} */
function design({ duration_s, rates_rps, connections: [connections], samples }, records) {
  const rung = { rate_rps: rates_rps?.[0] ?? 1, connections }
  const last = records.slice(-MAX_INVALID)
  const isHopeless = last.length === MAX_INVALID && !last.some(isValid)
  if (isHopeless || records.filter(isValid).length >= samples) return null
  const load = { driver: 'paced', loop: /** @type {const} */ ('open'), warmup_s: 0, duration_s, ...rung }
  return { at: { phase: 'sample' }, cell: null, left_s: (samples - records.filter(isValid).length) * duration_s, load }
}

/** @param {SoakPlan} plan @param {TrialRecord[]} records */
function problemOf({ samples }, records) {
  const failed = records.find(({ outcome }) => outcome.verdict === 'fail')
  if (failed) return `trial ${failed.trial} failed: ${failed.outcome.because}`
  const taken = records.filter(isValid).length
  if (taken < samples) return `${taken} of ${samples} samples were taken`
  return records.some(({ probes }) => probes.api.rss_bytes) ? null : 'this system does not tell the memory of a process'
}

/** @param {Growth[]} growths */
function slopeProblem(growths) {
  const unknown = growths.filter(({ points, per_hour }) => points.length > 0 && per_hour === null)
  if (unknown.length === 0) return null
  const names = unknown.map(({ what }) => what).join(' and ')
  return `too few samples for a slope of ${names}: give a longer --duration`
}

/** A growth as run.json keeps it. @param {Growth} growth */
function keptGrowth({ what, unit, per_hour, low_per_hour, high_per_hour, jumps }) {
  return { what, unit: unit.trim() || what, per_hour, low_per_hour, high_per_hour, jumps }
}

/** A jump is as many times the usual change between two samples: a leak that is as large in each of them is none. */
const JUMP_TIMES = 5

/** The resources that may grow. */
const SHOWN = /** @type {const} */ ([
  {
    what: 'memory',
    value: (/** @type {TrialRecord} */ { probes }) => Number(probes.api.rss_bytes) / 2 ** 20,
    name: 'Memory (RSS)',
    unit: ' MiB',
    // V8 doubles or halves its semi-spaces, of which it has up to three, from 1 to 64 MiB.
    least_jump: 8,
    y: { title: 'RSS', unit: 'mib' },
  },
  {
    what: 'files',
    value: (/** @type {TrialRecord} */ { probes }) => Number(probes.api.open_files),
    name: 'Open files',
    unit: '',
    least_jump: Number.POSITIVE_INFINITY,
    y: { title: 'open files', unit: 'number' },
  },
])

/** @typedef {ReturnType<typeof growthOf>} Growth per_hour: null if too few samples for a slope; low, high: its interval, null if too few samples for one; jumps: which the slope leaves out; points: by seconds since the start */

/** @param {SHOWN[number]} shown @param {TrialRecord[]} records at least one */
function growthOf({ value, ...shown }, records) {
  const start_ms = Date.parse(records[0].started_at)
  const pointOf = (/** @type {TrialRecord} */ record) => {
    return /** @type {[number, number]} */ ([(Date.parse(record.started_at) - start_ms) / 1000, value(record)])
  }
  // A resumed run has a new process, which warms up again and has a level of its own.
  const processes = [...groupBy(records, ({ target }) => String(target.pid)).values()]
  const series = processes.map((own) => own.map(pointOf).filter(isFinitePoint))
  const points = series.flat()
  const steady = series.map((own) => own.slice(Math.ceil(own.length * START_SHARE)))
  const least_jump = Math.max(shown.least_jump, JUMP_TIMES * medianStep(steady))
  const stretches = steady.map((own) => stretchesOf(own, least_jump))
  const { slope, interval } = slopeOf(stretches.flat())
  const values = points.map(([, y]) => y)
  return {
    ...shown,
    least: Math.min(...values),
    most: Math.max(...values),
    per_hour: slope && slope * 3600,
    low_per_hour: interval && interval.low * 3600,
    high_per_hour: interval && interval.high * 3600,
    jumps: stretches.flatMap((own) => own.slice(1).map(([[, after]], i) => after - Number(own[i].at(-1)?.[1]))),
    points,
  }
}

/** @param {[number, number]} point */
const isFinitePoint = ([, y]) => Number.isFinite(y)

/** Median change from one point to the next of the same series, up or down. @param {Point[][]} series */
function medianStep(series) {
  return median(series.flatMap((points) => points.slice(1).map(([, y], i) => Math.abs(y - points[i][1])))) || 0
}

/** @param {Growth} growth */
function growthText({ name, unit, least, most, per_hour, low_per_hour, high_per_hour, jumps, points }) {
  if (points.length === 0) return `${name}: not known on this system.`
  const sizes = jumps.map((size) => `${size > 0 ? '+' : '−'}${Math.round(Math.abs(size))}`).join(', ')
  const apart = jumps.length > 0 ? `, apart from ${jumps.length === 1 ? 'a jump' : 'jumps'} (${sizes}${unit})` : ''
  const ends = [low_per_hour, high_per_hour].flatMap((end) => end?.toFixed(1) ?? [])
  const interval = ends.length > 0 ? ` (${CONFIDENCE * 100} % interval: ${ends.join(' to ')})` : ''
  const slope = per_hour === null ? 'too few samples for a slope' : `slope ${per_hour.toFixed(1)}${unit} per hour`
  return `${name}: between ${Math.round(least)} and ${Math.round(most)}${unit}, ${slope}${interval}${apart}.`
}
