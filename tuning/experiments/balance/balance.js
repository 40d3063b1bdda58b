import { UsageError } from '../../../load/command/errors.js'
import { duration, durationFlag, numberFlag, seedFlag, someOf, switchFlag } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { findHaproxy, HAPROXY_FLAG, NO_HAPROXY } from '../../knobs/haproxy.js'
import { PUBLISHED_PARAMETERS } from './balancers.js'
import { openStrategy, pinnedCores, pinningText } from './open.js'
import { PUBLISHED } from './published.js'
import { analyse, report } from './report.js'
import { simulateAll } from './simulation.js'
import { durationOf, MEASURED, MEASURED_PARTS, nextStep, UNEVEN } from './steps.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Io } from '../../../load/run/runner.js'
 * @import { MeasuredPart } from './steps.js'
 * @typedef {ReturnType<typeof planOf>} BalancePlan
 */

const ENDPOINTS = 6

/** Requests that an endpoint serves at the same time. */
const SLOTS = 16

/** Limits of slow endpoints: beyond them, trials would measure timeouts, or the wait for a connection of the generator. */
const SLOW = { most: 3, most_ms: 1000 }

const DEFAULTS = {
  slow: { count: 1, extra_ms: 250 },
  samples: Number(PUBLISHED.samples),
  seed: 1,
  factor: PUBLISHED_PARAMETERS.factor,
}

/** Requests in flight in the simulation. */
const WORKERS = { usual: [1, 16], quick: [1] }

const SIMULATION = /** @type {const} */ ('simulation')
const PARTS = [...MEASURED_PARTS, SIMULATION]
const UNEVEN_PARTS = /** @type {MeasuredPart[]} */ (Object.keys(UNEVEN))

/** The parts in which a flag has an effect. Other flags have one in every part. @type {Record<string, typeof PARTS>} */
const EFFECTS = {
  duration: UNEVEN_PARTS,
  slow: [...UNEVEN_PARTS, SIMULATION],
  samples: [SIMULATION],
  blocks: MEASURED_PARTS,
  haproxy: MEASURED_PARTS,
}

/** Lower bound (exclusive): with less, fast answers would shrink a score to 0, where it stays. */
const LEAST_FACTOR = 0.5
const MOST_FACTOR = 100

/** Window in which the failing endpoint fails, as shares of a trial. */
const FAILS = { from: 0.2, to: 0.5 }

const FLAGS = {
  slow: {
    value: 'NxTIME',
    about: `number of slow endpoints out of ${ENDPOINTS}, and their added delay (default 1x250ms)`,
    parse: slowness,
    expected: `up to ${SLOW.most} endpoints and ${SLOW.most_ms}ms, such as 1x250ms`,
  },
  factor: {
    value: 'X',
    about: `adaptive: priority factor (default ${DEFAULTS.factor})`,
    parse: factor,
    expected: `a number above ${LEAST_FACTOR}, at most ${MOST_FACTOR}`,
  },
  samples: numberFlag(`number of samples in the simulation (default ${DEFAULTS.samples})`, 100, 10_000_000),
  duration: durationFlag(
    `duration of each trial over uneven endpoints (default ${MEASURED.strategies.usual[2]}s, crowded ${MEASURED.crowded.usual[2]}s)`,
  ),
  only: { value: 'A,B,C', about: `some of ${PARTS.join(', ')}`, ...someOf(PARTS) },
  blocks: numberFlag(
    `passes over the strategies, in every part (default ${MEASURED.strategies.usual[0]}, overhead ${MEASURED.overhead.usual[0]})`,
    1,
    1000,
  ),
  haproxy: HAPROXY_FLAG,
  quick: switchFlag('fewer and shorter trials: under two minutes'),
  seed: seedFlag(`seed of the orders and responses (default ${DEFAULTS.seed})`),
}

/** Does adaptive balancing beat round robin over uneven endpoints? @type {Experiment<BalancePlan, ReturnType<typeof analyse>>} */
export const balance = {
  name: 'balance',
  about: 'does adaptive balancing beat round robin over uneven endpoints?',
  details: 'And does HAProxy beat both?',
  flags: FLAGS,
  examples: `  npm run balance                                about 16 minutes
  npm run balance -- --quick --slow 2x250ms
  npm run balance -- --only simulation --factor 0.6`,
  plan: planOf,
  size: (plan) => `${plan.parts.join(', ')}: about ${Math.ceil(durationOf(plan) / 60)} min`,
  prepare,
  design: nextStep,
  open: openStrategy,
  pinning: (plan) => pinningText(pinnedCores(plan)),
  analyse,
  report,
}

/** @param {BalancePlan} plan @param {{ run: any }} begun @param {Io} io */
async function prepare(plan, { run }, { signal, progress }) {
  if (plan.haproxy_missing) progress.note(plan.haproxy_missing)
  if (run.simulation || !plan.parts.includes(SIMULATION)) return
  progress.note('simulating …')
  return { simulation: await simulateAll(plan, signal) }
}

/** Parses `1x250ms`. @param {string} text */
function slowness(text) {
  const [, number, time = ''] = /^(\d)x(.+)$/.exec(text) ?? []
  const [count, extra_ms = Number.NaN] = [Number(number), duration(time)]
  return count <= SLOW.most && extra_ms <= SLOW.most_ms ? { count, extra_ms } : undefined
}

/** @param {string} text */
function factor(text) {
  const value = /^\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
  return value > LEAST_FACTOR && value <= MOST_FACTOR ? value : undefined
}

/** Refuses flags that this run would ignore. @param {Record<string, any>} flags @param {typeof PARTS} parts @throws {UsageError} */
function refuseIneffective(flags, parts) {
  for (const [flag, own] of Object.entries(EFFECTS)) {
    if (flags[flag] === undefined || own.some((part) => parts.includes(part))) continue
    throw new UsageError(
      `--${flag}: expected a part that it applies to (${own.join(', ')}), got --only ${parts.join(',')}`,
    )
  }
}

/** fails: windows in which the failing endpoint fails; haproxy: the program, or null. @param {Record<string, any>} flags @throws {UsageError} */
function planOf(flags) {
  const parts = PARTS.filter((part) => (flags.only ?? PARTS).includes(part))
  refuseIneffective(flags, parts)
  const { slow, samples, seed, factor } = /** @type {typeof DEFAULTS} */ ({ ...DEFAULTS, ...flags })
  const mode = flags.quick ? 'quick' : 'usual'
  const sizes = sizesOf(mode, flags)
  const haproxy = findHaproxy(flags.haproxy)
  const plan = localPlan({ seed, duration_s: sizes.strategies.duration_s })
  return {
    ...plan,
    // Without the API, no database is needed.
    url: 'http://127.0.0.1/',
    // All that it loads is its own.
    sides: {},
    // Errors are counted here; they do not fail a trial.
    slo: { ...plan.slo, success_ratio: 0 },
    ...{ parts, sizes, endpoints: ENDPOINTS, slots: SLOTS, slow, samples, workers: WORKERS[mode] },
    fails: { strategies: failsIn(sizes.strategies), crowded: failsIn(sizes.crowded), failing: failsIn(sizes.failing) },
    parameters: { ...PUBLISHED_PARAMETERS, factor },
    haproxy: haproxy?.program ?? null,
    haproxy_version: haproxy?.version ?? null,
    haproxy_missing: haproxy ? null : `${NO_HAPROXY}; this run goes on without it`,
  }
}

/** @param {'usual' | 'quick'} mode @param {Record<string, any>} flags */
function sizesOf(mode, flags) {
  const sizes = Object.entries(MEASURED).map(([part, { [mode]: times, rate_rps }]) => {
    const [blocks, warmup_s, usual_s] = times
    const duration_s = part in UNEVEN && flags.duration ? flags.duration / 1000 : usual_s
    return [part, { blocks: flags.blocks ?? blocks, warmup_s, duration_s, rate_rps }]
  })
  /** @typedef {{ blocks: number, warmup_s: number, duration_s: number, rate_rps: number }} Size */
  return /** @type {Record<MeasuredPart, Size>} */ (Object.fromEntries(sizes))
}

/** @param {{ duration_s: number }} size */
function failsIn({ duration_s }) {
  const [from_s, to_s] = [FAILS.from, FAILS.to].map((share) => Number((duration_s * share).toFixed(2)))
  return { from_s, to_s }
}
