import { UsageError } from '../../../load/command/errors.js'
import { duration, durationFlag, wholeNumber } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { planCores } from '../../../load/system/machine.js'
import { PUBLISHED_PARAMETERS } from './adaptive.js'
import { COLD_MS, MIN_ENDPOINTS, meanLatency_ms, unevenEndpoints } from './endpoints.js'
import { PUBLISHED } from './gains.js'
import { findHaproxy } from './haproxy.js'
import { OPEN_CONNECTIONS, PARTS } from './steps.js'

/**
 * @import { Slow } from './endpoints.js'
 * @import { BalancePlan, Window } from './steps.js'
 */

/** Longer than any endpoint takes; the proxies and HAProxy wait as long. */
const TIMEOUT_S = 10

const DEFAULTS = {
  endpoints: 6,
  slow: { count: 1, extra_ms: 250 },
  rate: 40,
  slots: 16,
  samples: PUBLISHED.samples,
  seed: 1,
}

/** So much more than over uneven endpoints otherwise. */
const CROWDED_TIMES = 2.5
const FAILING_RPS = 200
const OVERHEAD_RPS = 500

/** Six blocks are the least for an interval of 95 %. */
const USUAL = {
  sizes: {
    overhead: { blocks: 8, warmup_s: 0.5, duration_s: 2, rate_rps: OVERHEAD_RPS },
    strategies: { blocks: 6, warmup_s: 2, duration_s: 10, rate_rps: DEFAULTS.rate },
    crowded: { blocks: 6, warmup_s: 1, duration_s: 6, rate_rps: DEFAULTS.rate },
    failing: { blocks: 6, warmup_s: 1, duration_s: 8, rate_rps: FAILING_RPS },
    processes: { blocks: 6, warmup_s: 1, duration_s: 3, rate_rps: null },
  },
  workers: [1, 16],
}

const QUICK = {
  sizes: {
    overhead: { blocks: 1, warmup_s: 0.5, duration_s: 1, rate_rps: OVERHEAD_RPS },
    strategies: { blocks: 1, warmup_s: 1, duration_s: 3, rate_rps: DEFAULTS.rate },
    crowded: { blocks: 1, warmup_s: 0.5, duration_s: 2, rate_rps: DEFAULTS.rate },
    failing: { blocks: 1, warmup_s: 0.5, duration_s: 3, rate_rps: FAILING_RPS },
    processes: { blocks: 1, warmup_s: 0.5, duration_s: 1, rate_rps: null },
  },
  workers: [1],
}

/** With less, a fast answer would make a score smaller and smaller, down to 0, where it stays. */
const LEAST_FACTOR = 0.5

/** Of a trial, in which the endpoint that fails does so. */
const FAILS = { from: 0.2, to: 0.5 }

/** @param {number} above @param {number} most */
function factor(above, most) {
  return {
    parse: (/** @type {string} */ text) => {
      const value = /^\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
      return value > above && value <= most ? value : undefined
    },
    expected: `a number above ${above}, at most ${most}`,
  }
}

/** `1x250ms` @param {string} text @returns {Slow | undefined} */
function slowness(text) {
  const [, number, time = ''] = /^(\d{1,2})x(.+)$/.exec(text) ?? []
  const extra_ms = duration(time)
  return extra_ms === undefined ? undefined : { count: Number(number), extra_ms }
}

const { factor: byDefault, error_factor, decay, min_samples } = PUBLISHED_PARAMETERS

export const FLAGS = {
  endpoints: {
    value: 'N',
    about: `local endpoints, uneven by design (default ${DEFAULTS.endpoints})`,
    ...wholeNumber(MIN_ENDPOINTS, 50),
  },
  slow: {
    value: 'NxTIME',
    about: `so many of them are slower by so much (default 1x250ms)`,
    parse: slowness,
    expected: 'a number and a time such as 1x250ms',
  },
  rate: { value: 'N', about: `requests/s over uneven endpoints (default ${DEFAULTS.rate})`, ...wholeNumber(1, 5000) },
  slots: {
    value: 'N',
    about: `requests that an endpoint works on at once (default ${DEFAULTS.slots})`,
    ...wholeNumber(1, 1000),
  },
  factor: { value: 'X', about: `adaptive: priority factor (default ${byDefault})`, ...factor(LEAST_FACTOR, 100) },
  'error-factor': {
    value: 'X',
    about: `adaptive: of an error (default ${error_factor})`,
    ...factor(LEAST_FACTOR, 100),
  },
  decay: { value: 'X', about: `adaptive: of a score above 1 (default ${decay})`, ...factor(0, 1) },
  'min-samples': {
    value: 'N',
    about: `adaptive: before it scores (default ${min_samples})`,
    ...wholeNumber(1, 100_000),
  },
  samples: { value: 'N', about: `of the simulation (default ${DEFAULTS.samples})`, ...wholeNumber(100, 10_000_000) },
  duration: durationFlag(
    `of each trial over uneven endpoints (default ${USUAL.sizes.strategies.duration_s}s, crowded ${USUAL.sizes.crowded.duration_s}s)`,
  ),
  only: {
    value: 'A,B,C',
    about: `some of ${PARTS.join(', ')}`,
    parse: (/** @type {string} */ text) => {
      const names = text.split(',')
      return names.every((name) => PARTS.some((part) => part === name)) ? names : undefined
    },
    expected: `some of ${PARTS.join(',')}`,
  },
  blocks: { value: 'N', about: 'passes over the strategies, in every part', ...wholeNumber(1, 1000) },
  haproxy: { value: 'FILE', about: 'the program (default: on PATH, or where Debian puts it)' },
  quick: { value: '', about: 'fewer and shorter trials: under two minutes' },
  seed: { value: 'N', about: `of orders and answers (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
}

/** @param {Record<string, any>} flags @returns {BalancePlan} */
export function planOf(flags) {
  const { endpoints, slow, rate, slots, samples, seed } = /** @type {any} */ ({ ...DEFAULTS, ...flags })
  if (slow.count > endpoints - MIN_ENDPOINTS + 1) {
    throw new UsageError(
      `--slow: expected at most ${endpoints - MIN_ENDPOINTS + 1} of ${endpoints} endpoints, got ${slow.count}`,
    )
  }
  const usual = flags.quick ? QUICK : USUAL
  const sizes = sizesOf(usual.sizes, flags, rate)
  const parts = PARTS.filter((part) => (flags.only ?? PARTS).includes(part))
  refuseOverload(parts, sizes, endpoints, slow)
  const found = findHaproxy(flags.haproxy)
  const plan = localPlan({ seed, duration_s: sizes.strategies.duration_s, timeout_s: TIMEOUT_S })
  return {
    ...plan,
    // Without the API there is no need of a database.
    url: parts.includes('processes') ? null : 'http://127.0.0.1/',
    // Errors are what is counted here; no trial fails by them.
    slo: { ...plan.slo, success_ratio: 0 },
    parts,
    endpoints,
    slow,
    slots,
    samples,
    workers: usual.workers,
    fails: { strategies: failsIn(sizes.strategies), crowded: failsIn(sizes.crowded), failing: failsIn(sizes.failing) },
    sizes,
    processes: processCounts(),
    parameters: {
      factor: flags.factor ?? byDefault,
      error_factor: flags['error-factor'] ?? error_factor,
      decay: flags.decay ?? decay,
      min_samples: flags['min-samples'] ?? min_samples,
    },
    haproxy: found.program,
    haproxy_version: found.program === null ? null : found.version,
    haproxy_missing: found.program === null ? `${found.because}; this run goes on without it` : null,
  }
}

/**
 * What would measure timeouts, or the wait for a connection.
 *
 * @param {readonly string[]} parts
 * @param {BalancePlan['sizes']} sizes
 * @param {number} endpoints
 * @param {Slow} slow
 */
function refuseOverload(parts, sizes, endpoints, slow) {
  const most_ms = TIMEOUT_S * 1000 - COLD_MS.to
  if (slow.extra_ms >= most_ms) {
    throw new UsageError(
      `--slow: expected less than ${most_ms}ms, since answers have to come within ${TIMEOUT_S} s, got ${slow.extra_ms}ms`,
    )
  }
  const mean_ms = meanLatency_ms(unevenEndpoints(endpoints, slow))
  for (const part of /** @type {const} */ (['strategies', 'crowded'])) {
    const rate_rps = Number(sizes[part].rate_rps)
    const underWay = (rate_rps * mean_ms) / 1000
    if (!parts.includes(part) || underWay <= OPEN_CONNECTIONS) continue
    throw new UsageError(
      `--rate: expected at most ${OPEN_CONNECTIONS} requests under way at once, got ${Math.ceil(underWay)} (${part}: ${rate_rps}/s of ${mean_ms.toFixed(0)} ms each)`,
    )
  }
}

/**
 * @param {typeof USUAL['sizes'] | typeof QUICK['sizes']} usual
 * @param {Record<string, any>} flags
 * @param {number} rate_rps
 * @returns {BalancePlan['sizes']}
 */
function sizesOf(usual, { blocks, duration: duration_ms }, rate_rps) {
  const given = { ...(blocks && { blocks }) }
  const uneven = { ...given, ...(duration_ms && { duration_s: duration_ms / 1000 }) }
  return {
    overhead: { ...usual.overhead, ...given },
    strategies: { ...usual.strategies, ...uneven, rate_rps },
    crowded: { ...usual.crowded, ...uneven, rate_rps: Math.round(rate_rps * CROWDED_TIMES) },
    failing: { ...usual.failing, ...given },
    processes: { ...usual.processes, ...given },
  }
}

/** @param {{ duration_s: number }} size @returns {Window} */
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
