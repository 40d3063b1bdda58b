import { UsageError } from '../../../load/command/errors.js'
import { duration, durationFlag, numberFlag, seedFlag, someOf } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { planCores } from '../../../load/system/machine.js'
import { PUBLISHED_PARAMETERS } from './balancers.js'
import { COLD_MS, MIN_ENDPOINTS, meanLatency_ms, unevenEndpoints } from './endpoints.js'
import { findHaproxy } from './haproxy.js'
import { PUBLISHED } from './published.js'
import { MEASURED, OPEN_CONNECTIONS } from './steps.js'

/**
 * @import { Slow } from './endpoints.js'
 * @import { MeasuredPart } from './steps.js'
 *
 * @typedef {ReturnType<typeof planOf>} BalancePlan
 * @typedef {{ blocks: number, warmup_s: number, duration_s: number, rate_rps: number | null }} Size
 */

/** Longer than any endpoint takes; the proxies and HAProxy wait as long. */
const TIMEOUT_S = 10

const P = PUBLISHED_PARAMETERS
const DEFAULTS = {
  endpoints: 6,
  slow: { count: 1, extra_ms: 250 },
  rate: 40,
  slots: 16,
  samples: Number(PUBLISHED.samples),
  seed: 1,
  factor: P.factor,
  'error-factor': P.error_factor,
  decay: P.decay,
  'min-samples': P.min_samples,
}

/** Requests in flight in the simulation. */
const WORKERS = { usual: [1, 16], quick: [1] }

const PARTS = [.../** @type {MeasuredPart[]} */ (Object.keys(MEASURED)), /** @type {const} */ ('simulation')]

/** With less, fast answers would shrink a score down to 0, where it stays. */
const LEAST_FACTOR = 0.5

/** The endpoint that fails does so from and to this share of a trial. */
const FAILS = { from: 0.2, to: 0.5 }

export const FLAGS = {
  endpoints: numberFlag(`local endpoints, uneven by design (default ${DEFAULTS.endpoints})`, MIN_ENDPOINTS, 50),
  slow: {
    value: 'NxTIME',
    about: 'number of slow endpoints, and their added delay (default 1x250ms)',
    parse: slowness,
    expected: 'a number and a time such as 1x250ms',
  },
  rate: numberFlag(`requests/s over uneven endpoints (default ${DEFAULTS.rate})`, 1, 5000),
  slots: numberFlag(`requests that an endpoint works on at once (default ${DEFAULTS.slots})`, 1, 1000),
  factor: factorFlag(`adaptive: priority factor (default ${DEFAULTS.factor})`, LEAST_FACTOR, 100),
  'error-factor': factorFlag(`adaptive: of an error (default ${DEFAULTS['error-factor']})`, LEAST_FACTOR, 100),
  decay: factorFlag(`adaptive: of a score above 1 (default ${DEFAULTS.decay})`, 0, 1),
  'min-samples': numberFlag(`adaptive: before it scores (default ${DEFAULTS['min-samples']})`, 1, 100_000),
  samples: numberFlag(`of the simulation (default ${DEFAULTS.samples})`, 100, 10_000_000),
  duration: durationFlag(
    `of each trial over uneven endpoints (default ${MEASURED.strategies.usual[2]}s, crowded ${MEASURED.crowded.usual[2]}s)`,
  ),
  only: { value: 'A,B,C', about: `some of ${PARTS.join(', ')}`, ...someOf(PARTS) },
  blocks: numberFlag('passes over the strategies, in every part', 1, 1000),
  haproxy: { value: 'FILE', about: 'the program (default: on PATH, or where Debian puts it)' },
  quick: { value: '', about: 'fewer and shorter trials: under two minutes' },
  seed: seedFlag(`of orders and answers (default ${DEFAULTS.seed})`),
}

/** `1x250ms` @param {string} text @returns {Slow | undefined} */
function slowness(text) {
  const [, number, time = ''] = /^(\d{1,2})x(.+)$/.exec(text) ?? []
  const extra_ms = duration(time)
  return extra_ms === undefined ? undefined : { count: Number(number), extra_ms }
}

/** @param {string} about @param {number} above @param {number} most */
function factorFlag(about, above, most) {
  const parse = (/** @type {string} */ text) => {
    const value = /^\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
    return value > above && value <= most ? value : undefined
  }
  return { value: 'X', about, parse, expected: `a number above ${above}, at most ${most}` }
}

/**
 * fails: when the endpoint that fails does so; haproxy: the program, or null; processes: of the API behind HAProxy.
 * @param {Record<string, any>} flags
 */
export function planOf(flags) {
  /** @type {typeof DEFAULTS} */
  const options = { ...DEFAULTS, ...flags }
  const { endpoints, slow, slots, samples, seed, factor, decay } = options
  const mode = flags.quick ? 'quick' : 'usual'
  const sizes = sizesOf(mode, flags, options.rate)
  const parts = PARTS.filter((part) => (flags.only ?? PARTS).includes(part))
  refuseOverload(parts, sizes, endpoints, slow)
  const { program, version, problem } = findHaproxy(flags.haproxy)
  const plan = localPlan({ seed, duration_s: sizes.strategies.duration_s, timeout_s: TIMEOUT_S })
  return {
    ...plan,
    // Without the API there is no need of a database.
    url: parts.includes('processes') ? null : 'http://127.0.0.1/',
    // Errors are counted here; they do not fail a trial.
    slo: { ...plan.slo, success_ratio: 0 },
    ...{ parts, endpoints, slow, slots, samples, workers: WORKERS[mode] },
    fails: { strategies: failsIn(sizes.strategies), crowded: failsIn(sizes.crowded), failing: failsIn(sizes.failing) },
    sizes,
    processes: processCounts(),
    parameters: { factor, error_factor: options['error-factor'], decay, min_samples: options['min-samples'] },
    haproxy: program,
    haproxy_version: version,
    haproxy_missing: problem && `${problem}; this run goes on without it`,
  }
}

/**
 * Refuses what would measure timeouts, or the wait for a connection.
 * @param {string[]} parts @param {ReturnType<typeof sizesOf>} sizes @param {number} endpoints @param {Slow} slow
 */
function refuseOverload(parts, sizes, endpoints, slow) {
  const most = endpoints - MIN_ENDPOINTS + 1
  if (slow.count > most) {
    throw new UsageError(`--slow: expected at most ${most} of ${endpoints} endpoints, got ${slow.count}`)
  }
  const most_ms = TIMEOUT_S * 1000 - COLD_MS.to
  if (slow.extra_ms >= most_ms) {
    throw new UsageError(
      `--slow: expected less than ${most_ms}ms, since answers have to come within ${TIMEOUT_S} s, got ${slow.extra_ms}ms`,
    )
  }
  const mean_ms = meanLatency_ms(unevenEndpoints(endpoints, slow))
  for (const part of /** @type {const} */ (['strategies', 'crowded'])) {
    const rate_rps = Number(sizes[part].rate_rps)
    const inFlight = (rate_rps * mean_ms) / 1000
    if (!parts.includes(part) || inFlight <= OPEN_CONNECTIONS) continue
    throw new UsageError(
      `--rate: expected at most ${OPEN_CONNECTIONS} requests in flight, got ${Math.ceil(inFlight)} (${part}: ${rate_rps}/s of ${mean_ms.toFixed(0)} ms each)`,
    )
  }
}

/** @param {'usual' | 'quick'} mode @param {Record<string, any>} flags @param {number} rate */
function sizesOf(mode, flags, rate) {
  const sizes = Object.entries(MEASURED).map(([part, { [mode]: times, ...own }]) => {
    const [blocks, warmup_s, usual_s] = times
    const duration_s = 'rate_times' in own && flags.duration ? flags.duration / 1000 : usual_s
    const rate_rps = 'rate_times' in own ? Math.round(rate * own.rate_times) : own.rate_rps
    return [part, { blocks: flags.blocks ?? blocks, warmup_s, duration_s, rate_rps }]
  })
  return /** @type {Record<MeasuredPart, Size>} */ (Object.fromEntries(sizes))
}

/** @param {Size} size */
function failsIn({ duration_s }) {
  const [from_s, to_s] = [FAILS.from, FAILS.to].map((share) => Number((duration_s * share).toFixed(2)))
  return { from_s, to_s }
}

/** One, two, and as many as there are cores for, one left for the others. */
function processCounts() {
  const cores = planCores()
  const most = cores ? cores.others.split(',').length : 1
  return [...new Set([1, 2, most])].sort((a, b) => a - b)
}
