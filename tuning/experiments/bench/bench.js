import { durationFlag, numberFlag, seedFlag, someOf } from '../../../load/command/flags.js'
import { localPlan } from '../../../load/run/plan.js'
import { matrixVisits, nextTrial, trialsAt } from '../../stats/matrix.js'
import {
  COLUMNS,
  CROWD_CONNECTIONS,
  CROWD_LOW_RATE_RPS,
  HIGH_RATE_RPS,
  LOW_RATE_RPS,
  SATURATION_CONNECTIONS,
} from './columns.js'
import { CONTENDERS, openContender } from './contenders.js'
import { benchReport } from './report.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { Column } from './columns.js'
 * @import { Plan, Run, StepLoad, TrialRecord } from '../../../load/report/record.js'
 */

/** @type {Record<string, any>} */
const DEFAULTS = { repeats: 5, duration: 3000, seed: 1 }
const QUICK = { repeats: 1, duration: 1000 }
const TIMEOUT_S = 10
const NAMES = CONTENDERS.map(({ name }) => name)

/** Each visit: a closed loop to saturation, open loops at two rates that are the same for all, and at half of what it took. */
const KINDS = ['saturation', 'low', 'high', 'half']
const OPEN_CONNECTIONS = 64

/** A contender is offered the high rate if its closed loop took this much more. */
const HIGH_RATE_MARGIN = 1.1

/** Share of a trial's length. The first one takes all of it: V8 has compiled nothing when a process gets its first load. */
const WARMUP_SHARE = 0.25

/** A bench has few trials, and its ratios need all of them. */
const TRIES = 3

/** A generator that uses this much of its core was the limit itself: the target could have taken more. */
const GENERATOR_FULL_RATIO = 0.85

/** What does one insert cost here, and in other people's ways to write the same service? @type {Experiment<BenchPlan, BenchFindings>} */
export const bench = {
  name: 'bench',
  about: 'what does an insert cost here, and elsewhere?',
  flags: {
    repeats: numberFlag(`blocks, each with every contender once (default ${DEFAULTS.repeats})`, 1, 100),
    duration: durationFlag(`of each trial (default ${DEFAULTS.duration / 1000}s)`),
    quick: { value: '', about: 'one block of trials of 1s: about two minutes' },
    only: { value: 'A,B,C', about: `some of ${NAMES.join(', ')}`, ...someOf(NAMES) },
    seed: seedFlag(`of the order and of the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run bench                     about 18 minutes
  npm run bench -- --quick
  npm run bench -- --only no-op,batched,fastify --repeats 2 --duration 1s`,
  plan(flags) {
    const { repeats, duration: duration_ms, seed, only = NAMES } = { ...DEFAULTS, ...(flags.quick && QUICK), ...flags }
    const contenders = NAMES.filter((name) => only.includes(name))
    return { ...localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S }), repeats, contenders }
  },
  design,
  open: (cell, place) =>
    openContender(/** @type {any} */ (CONTENDERS.find(({ name }) => name === cell?.contender)), place),
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

/** @param {BenchPlan} plan @param {TrialRecord[]} records @param {any[]} notApplied */
export function design({ repeats, contenders, mix, duration_s }, records, notApplied) {
  const units = contenders.map((contender) => ({ cell: { contender } }))
  const visits = matrixVisits({ units, blocks: repeats, seed: mix.seed })
  const visit_s = KINDS.length * (1 + WARMUP_SHARE) * duration_s
  /** @type {Matrix['loadOf']} */
  const loadOf = ({ cell }, kind, own) => {
    const { name, kind: type, connections = 0 } = CONTENDERS.find((one) => one.name === cell.contender) ?? {}
    if (name && type === 'direct') return kind === 'saturation' ? directLoad(name, connections, duration_s) : null
    if (type === 'far') return farLoad(String(kind), duration_s)
    return loadOfKind(String(kind), duration_s, own('saturation').at(-1)?.traffic.goodput_rps ?? 0)
  }
  return nextTrial({ visits, kinds: KINDS, visit_s, tries: TRIES, loadOf }, records, notApplied)
}

/**
 * @param {string} kind @param {number} duration_s @param {number} took_rps in the closed loop of the same visit
 * @returns {StepLoad | null} null: not for this contender
 */
function loadOfKind(kind, duration_s, took_rps) {
  if (kind === 'saturation') {
    const connections = SATURATION_CONNECTIONS
    return { driver: 'autocannon', loop: 'closed', rate_rps: null, connections, warmup_s: duration_s, duration_s }
  }
  if (kind === 'high' && took_rps < HIGH_RATE_RPS * HIGH_RATE_MARGIN) return null
  const half_rps = Math.max(1, Math.round(took_rps / 2))
  const rate_rps = { low: LOW_RATE_RPS, high: HIGH_RATE_RPS, half: half_rps }[kind] ?? null
  const warmup_s = WARMUP_SHARE * duration_s
  return { driver: 'paced', loop: 'open', rate_rps, connections: OPEN_CONNECTIONS, warmup_s, duration_s }
}

/** As fast as it goes with many connections, and with next to nothing to do. @param {string} kind @param {number} duration_s */
function farLoad(kind, duration_s) {
  const saturation = loadOfKind('saturation', duration_s, 0)
  if (kind === 'saturation') return saturation && { ...saturation, connections: CROWD_CONNECTIONS }
  const low = loadOfKind('low', duration_s, 0)
  return kind === 'low' && low ? { ...low, rate_rps: CROWD_LOW_RATE_RPS } : null
}

/** A load in whole seconds, since pgbench takes no others. @param {string} driver @param {number} connections @param {number} length_s @returns {StepLoad} */
function directLoad(driver, connections, length_s) {
  const duration_s = Math.ceil(length_s)
  return { driver, loop: 'closed', rate_rps: null, connections, warmup_s: duration_s, duration_s }
}

/**
 * @typedef {ReturnType<typeof analyse>} BenchFindings
 * @typedef {BenchFindings['servers'][number]} Server
 */

/**
 * Values of all blocks, by contender and column. What could not be started without a service is left out.
 *
 * @param {BenchPlan} plan @param {TrialRecord[]} records @param {Pick<Run, 'not_applied'>} run
 */
export function analyse({ repeats, contenders }, records, { not_applied = [] }) {
  const trialsOf = (/** @type {string} */ contender, kind = '') => {
    return trialsAt(records, kind ? { kind } : {}).filter(({ cell }) => cell?.contender === contender)
  }
  const direct = CONTENDERS.filter(({ kind }) => kind === 'direct').map(({ name }) => name)
  const leftOut = direct.filter((name) => not_applied.some(({ cell }) => cell.contender === name))
  const wanted = repeats * contenders.filter((name) => !leftOut.includes(name)).length
  const missing = wanted - trialsAt(records, { kind: 'saturation' }).length
  return {
    problem: missing > 0 || wanted === 0 ? `${missing} of ${wanted} closed loops had no valid trial` : null,
    repeats,
    servers: CONTENDERS.filter(({ name }) => trialsOf(name).length > 0).map(({ name, kind, about }) => ({
      name,
      about,
      is_direct: kind === 'direct',
      is_far: kind === 'far',
      stores: kind !== 'floor',
      is_generator_full: trialsOf(name, 'saturation').some(({ probes }) => {
        return Number(probes.generator.cpu_core_ratio) > GENERATOR_FULL_RATIO
      }),
      values: COLUMNS.map((column) => {
        const [own, value] = [trialsOf(name, column.kind), column.value]
        return column.by ? ratios(own, trialsOf(column.by, column.kind), value) : own.map(value)
      }),
    })),
  }
}

/** Ratios of trials of the same block. @param {TrialRecord[]} own @param {TrialRecord[]} others @param {Column['value']} value */
export function ratios(own, others, value) {
  return own.flatMap((record) => {
    const other = others.find(({ at }) => at.block === record.at.block)
    return other ? [value(record) / value(other)] : []
  })
}
