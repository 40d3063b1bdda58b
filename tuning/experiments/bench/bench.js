import { durationFlag, wholeNumber } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { oncePerPlan } from '../../stats/design.js'
import { matrixVisits, nextTrial, trialsAt } from '../../stats/matrix.js'
import { spreadOf } from '../../stats/picture-values.js'
import { median } from '../../stats/ranks.js'
import { CONTENDERS, openContender } from './contenders.js'
import { benchReport } from './report.js'

/**
 * @import { Experiment, Plan, StepLoad } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Visit } from '../../stats/matrix.js'
 * @import { Contender } from './contenders.js'
 */

/** @type {Record<string, any>} */
const DEFAULTS = { repeats: 5, duration: 3000, seed: 1 }
const TIMEOUT_S = 10
const NAMES = CONTENDERS.map(({ name }) => name)

/** Each visit: a closed loop to saturation, open loops at two rates that are the same for all, and at half of what it took. */
const KINDS = ['saturation', 'low', 'high', 'half']
const SATURATION_CONNECTIONS = 128
const OPEN_CONNECTIONS = 64
const LOW_RATE_RPS = 2000
const HIGH_RATE_RPS = 20_000

/** A contender is offered the high rate if its closed loop took this much more. */
const HIGH_RATE_MARGIN = 1.1

/** Shares of a trial's length. V8 has compiled nothing when a process gets its first load. */
const FIRST_WARMUP_SHARE = 1
const WARMUP_SHARE = 0.25

/** A bench has few trials, and its ratios need all of them. */
const TRIES = 3

/** A generator that uses this much of its core was the limit itself: the target could have taken more. */
const GENERATOR_FULL_RATIO = 0.85

/** What does one insert cost here, and in other people's ways to write the same service? @type {Experiment} */
export const bench = {
  name: 'bench',
  about: 'what does an insert cost here, and elsewhere?',
  flags: {
    repeats: {
      value: 'N',
      about: `blocks, each with every server once (default ${DEFAULTS.repeats})`,
      ...wholeNumber(1, 100),
    },
    duration: durationFlag(`of each trial (default ${DEFAULTS.duration / 1000}s)`),
    only: {
      value: 'A,B,C',
      about: `some of ${NAMES.join(', ')}`,
      parse: (text) => {
        const names = text.split(',')
        return names.every((name) => NAMES.includes(name)) ? names : undefined
      },
      expected: `some of ${NAMES.join(',')}`,
    },
    seed: {
      value: 'N',
      about: `of the order and of the users (default ${DEFAULTS.seed})`,
      ...wholeNumber(0, 2 ** 32 - 1),
    },
  },
  examples: `  npm run bench                     about 15 minutes
  npm run bench -- --only no-op,batched,fastify --repeats 2 --duration 1s`,
  plan(flags) {
    const { repeats, duration: duration_ms, seed, only = NAMES } = { ...DEFAULTS, ...flags }
    const contenders = NAMES.filter((name) => only.includes(name))
    return { ...localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S }), repeats, contenders }
  },
  design,
  open: (cell, place) => {
    return openContender(/** @type {Contender} */ (CONTENDERS.find(({ name }) => name === cell?.contender)), place)
  },
  analyse,
  report: benchReport,
  older: {
    verb: 'bench',
    at: (experiment) => {
      const [kind, block] = experiment.split('/')
      return { phase: 'block', block: Number(block), kind }
    },
    cell: (contender) => ({ contender }),
  },
}

/** @typedef {Plan & { repeats: number, contenders: string[] }} BenchPlan */

const visitsTo = oncePerPlan((/** @type {BenchPlan} */ { repeats, contenders, mix }) => {
  const units = contenders.map((contender) => ({ cell: { contender } }))
  return matrixVisits({ units, blocks: repeats, seed: mix.seed })
})

/** @param {BenchPlan} plan @param {TrialRecord[]} records @param {any[]} notApplied */
export function design(plan, records, notApplied) {
  const visits = visitsTo(plan)
  const visit_s = KINDS.length * (1 + WARMUP_SHARE) * plan.duration_s
  const loadOf = (/** @type {Visit} */ _, /** @type {any} */ kind, /** @type {any} */ own) => {
    return loadOfKind(kind, plan, own('saturation').at(-1)?.traffic.goodput_rps ?? 0)
  }
  return nextTrial({ visits, kinds: KINDS, visit_s, tries: TRIES, loadOf }, records, notApplied)
}

/**
 * @param {string} kind
 * @param {BenchPlan} plan
 * @param {number} took_rps in the closed loop of the same visit
 * @returns {StepLoad | null} null: not for this contender
 */
function loadOfKind(kind, { duration_s }, took_rps) {
  if (kind === 'saturation') {
    const warmup_s = FIRST_WARMUP_SHARE * duration_s
    const connections = SATURATION_CONNECTIONS
    return { driver: 'autocannon', loop: 'closed', rate_rps: null, connections, warmup_s, duration_s }
  }
  if (kind === 'high' && took_rps < HIGH_RATE_RPS * HIGH_RATE_MARGIN) return null
  const half_rps = Math.max(1, Math.round(took_rps / 2))
  const rate_rps = { low: LOW_RATE_RPS, high: HIGH_RATE_RPS, half: half_rps }[kind] ?? null
  const warmup_s = WARMUP_SHARE * duration_s
  return { driver: 'paced', loop: 'open', rate_rps, connections: OPEN_CONNECTIONS, warmup_s, duration_s }
}

/** @param {BenchPlan} plan @param {TrialRecord[]} records */
function analyse(plan, records) {
  const closed = trialsAt(records, { kind: 'saturation' })
  const wanted = plan.repeats * plan.contenders.length
  const missing = wanted - closed.length
  const met = CONTENDERS.filter(({ name }) => trialsAt(records).some(({ cell }) => cell?.contender === name))
  return {
    problem: missing > 0 ? `${missing} of ${wanted} closed loops had no valid trial` : null,
    repeats: plan.repeats,
    connections: SATURATION_CONNECTIONS,
    low_rps: LOW_RATE_RPS,
    high_rps: HIGH_RATE_RPS,
    servers: met.map((contender) => serverOf(contender, records)),
  }
}

/**
 * What was measured of one server: values of all blocks; ratios are those within a block.
 *
 * @typedef {ReturnType<typeof serverOf>} Server
 * @typedef {ReturnType<typeof analyse>} BenchFindings
 *
 * @param {Contender} contender
 * @param {TrialRecord[]} records
 */
function serverOf({ name, kind, about }, records) {
  const of = (/** @type {string} */ contender, /** @type {string} */ load) => {
    return trialsAt(records, { kind: load }).filter(({ cell }) => cell?.contender === contender)
  }
  const [closed, low, high, half] = KINDS.map((load) => of(name, load))
  const ratiosTo = (/** @type {string} */ other, /** @type {string} */ load, /** @type {Value} */ value) => {
    return ratios(of(name, load), of(other, load), value)
  }
  return {
    name,
    about,
    stores: kind !== 'floor',
    is_generator_full: closed.some(({ probes }) => Number(probes.generator.cpu_core_ratio) > GENERATOR_FULL_RATIO),
    closed: {
      inserts_rps: closed.map(goodput),
      inserts: spreadOf(closed.map(goodput)),
      inserts_of_batched: ratiosTo('batched', 'saturation', goodput),
      cpu_us: closed.map(cpu),
      cpu: spreadOf(closed.map(cpu)),
      cpu_of_no_op: ratiosTo('no-op', 'saturation', cpu),
      cpu_of_batched: ratiosTo('batched', 'saturation', cpu),
      core_ratio: median(closed.map(({ probes }) => Number(probes.api.cpu_core_ratio))),
    },
    low: {
      p50_ms: median(low.map(p50)),
      cpu_us: low.map(cpu),
      cpu_of_no_op: ratiosTo('no-op', 'low', cpu),
      cpu_of_batched: ratiosTo('batched', 'low', cpu),
    },
    high: { cpu_us: high.map(cpu), cpu_of_no_op: ratiosTo('no-op', 'high', cpu) },
    half: {
      rate_rps: median(half.map(({ load }) => Number(load.rate_rps))),
      p50_ms: median(half.map(p50)),
      p99_ms: median(half.map(p99)),
    },
  }
}

/** @typedef {(record: TrialRecord) => number} Value */

/** @type {Value} */
const goodput = ({ traffic }) => traffic.goodput_rps
/** @type {Value} */
const cpu = ({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN
/** @type {Value} */
const p50 = ({ traffic }) => traffic.latency_ms?.p50 ?? Number.NaN
/** @type {Value} */
const p99 = ({ traffic }) => traffic.latency_ms?.p99 ?? Number.NaN

/** Ratios of trials of the same block. @param {TrialRecord[]} own @param {TrialRecord[]} others @param {Value} value */
export function ratios(own, others, value) {
  return own.flatMap((record) => {
    const other = others.find(({ at }) => at.block === record.at.block)
    return other ? [value(record) / value(other)] : []
  })
}
