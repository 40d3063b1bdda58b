import { isValid } from '../../../load/capacity/ladder.js'
import { isSameCell } from '../../../load/report/format.js'
import { loadOf } from '../../knobs/means.js'
import { durationOf, matrixVisits, nextTrial, peakOf } from '../../stats/matrix.js'

/**
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { Cell, NotAppliedCell, Plan, Step, TrialRecord } from '../../../load/report/record.js'
 */

const WARMUP_S = 2
const DURATION_S = 2
const START_S = 1.5

const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open') }

/** An open loop needs no more connections to find out what the reference takes. */
const PEAK = { ...CLOSED, connections: 128, warmup_s: WARMUP_S, duration_s: DURATION_S }

/**
 * @typedef {Plan & { claims: string[], experiments: string[], blocks: number }} PlaybookPlan
 * @typedef {{ connections: number, rate_rps?: number, share?: number, duration_s?: number, blames_generator?: boolean }} ExperimentLoad
 *   an open loop at a rate, or at a share of what the reference takes in a closed one; else a closed one; blames_generator: it is
 *   about the generator, so its trials count whatever it did
 */

const SINGLE = { INSERT_MODE: 'single' }
const BATCHED = { INSERT_MODE: 'batched' }

/** No request is refused for its age, which would hide what is measured. */
const PATIENT = { MAX_QUEUE_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000, MAX_LOOP_DELAY_MS: 0 }

/** A database 5 ms away and four connections to it: it takes some 700 requests/s, whatever the machine. */
const FAR = { ...SINGLE, POOL_MAX: 4, DB_DELAY_MS: 5 }
const TWICE = { connections: 4000, share: 2, duration_s: 3 }

/** @type {[Cell, Cell]} */
const POOLS = [{ POOL_MAX: 4 }, { POOL_MAX: 8 }]
/** @type {[Cell, Cell]} */
const COMMITS = [{ SYNCHRONOUS_COMMIT: 'on' }, { SYNCHRONOUS_COMMIT: 'off' }]

/** @type {Record<string, ReturnType<typeof two>>} */
export const EXPERIMENTS = {
  'soft-limit': two(BATCHED, [{}, { SOFT_NOFILE: 64 }], { connections: 200, rate_rps: 2000 }),
  'hard-limit-below': two({}, [{ NOFILE: 1024 }, { NOFILE: 100 }], { connections: 200, rate_rps: 2000 }),
  'hard-limit-above': two({}, [{ NOFILE: 2000 }, { NOFILE: 700 }]),
  'connect-timeout': two(
    { ...FAR, ...PATIENT },
    [{ POOL_CONNECT_TIMEOUT_MS: 500 }, { POOL_CONNECT_TIMEOUT_MS: 30000 }],
    TWICE,
  ),
  'pool-far': two({ ...SINGLE, DB_DELAY_MS: 5 }, POOLS),
  'pool-near': two({ ...SINGLE, DB_DELAY_MS: 1 }, POOLS),
  'pool-here': two({ ...SINGLE, DB_DELAY_MS: 0 }, POOLS),
  'pool-large': two(SINGLE, [{ POOL_MAX: 20 }, { POOL_MAX: 40 }]),
  'pool-batched': two(BATCHED, [{ POOL_MAX: 20 }, { POOL_MAX: 5 }]),
  prepared: two({}, [SINGLE, { INSERT_MODE: 'prepared' }]),
  batched: two({}, [SINGLE, BATCHED]),
  'one-slot': two(BATCHED, [{ BATCH_SLOTS: 4 }, { BATCH_SLOTS: 1 }]),
  'commit-single': two(SINGLE, COMMITS),
  'commit-batched': two(BATCHED, COMMITS),
  'semi-space': two({}, [{ SEMI_SPACE_MB: 16 }, { SEMI_SPACE_MB: 64 }]),
  'node-24': two({}, [{ NODE: 20 }, { NODE: 24 }], { connections: 64, rate_rps: 8000 }),
  'node-26': two({}, [{ NODE: 20 }, { NODE: 26 }], { connections: 64, rate_rps: 8000 }),
  'log-line': two({}, [{ LOG_LEVEL: 'info' }, { LOG_LEVEL: 'debug' }], { connections: 64, rate_rps: 5000 }),
  'fresh-connections': two({}, [{ CONNECTIONS: 'kept' }, { CONNECTIONS: 'fresh' }], {
    connections: 64,
    rate_rps: 3000,
  }),
  scrypt: two({}, [{ PASSWORD_STORAGE: 'plain' }, { PASSWORD_STORAGE: 'scrypt' }], { connections: 16 }),
  backlog: two({ CONNECTIONS: 'fresh' }, [{ LISTEN_BACKLOG: 511 }, { LISTEN_BACKLOG: 4 }], {
    connections: 200,
    rate_rps: 1500,
  }),
  shedding: two(
    { ...FAR, POOL_CONNECT_TIMEOUT_MS: 30000, MAX_LOOP_DELAY_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000 },
    [{ MAX_QUEUE_MS: 0 }, { MAX_QUEUE_MS: 100 }],
    TWICE,
  ),
  'generator-defaults': two(BATCHED, [{ GENERATOR: 'vegeta' }, { GENERATOR: 'vegeta-unbounded' }], {
    connections: 200,
    rate_rps: 8000,
    blames_generator: true,
  }),
}

/**
 * Two cells under the same load, by default a closed loop.
 * @param {Cell} common levels of both @param {[Cell, Cell]} levels the reference first @param {ExperimentLoad} [load]
 */
function two(common, levels, load = { connections: 128 }) {
  return { cells: levels.map((own) => ({ ...common, ...own })), load }
}

/** Whether a trial is a measurement. @param {string} name @param {TrialRecord} record */
export function countsIn(name, record) {
  return isValid(record) || Boolean(EXPERIMENTS[name].load.blames_generator && record.outcome.blame === 'generator')
}

/**
 * The next trial: each experiment in turn, its two cells in blocks, in an order that is drawn for each. Pure.
 * @param {PlaybookPlan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied @returns {Step | null}
 */
export function design(plan, records, notApplied) {
  for (const [i, name] of plan.experiments.entries()) {
    const isOut = EXPERIMENTS[name].cells.some((cell) => notApplied.some((one) => isSameCell(one.cell, cell)))
    if (isOut) continue
    const own = records.filter(({ at }) => at.experiment === name)
    const later_s = playbookDuration({ ...plan, experiments: plan.experiments.slice(i + 1) })
    const step = nextTrial({ ...matrixOf(name, plan, peakOf(own)), later_s }, own, [])
    if (step) return step
  }
  return null
}

/** Seconds. @param {PlaybookPlan} plan */
export function playbookDuration(plan) {
  return plan.experiments.reduce((sum, name) => sum + durationOf(matrixOf(name, plan, null)), 0)
}

/** @param {string} name @param {PlaybookPlan} plan @param {number | null} peak_rps @returns {Matrix} */
function matrixOf(name, { blocks, mix }, peak_rps) {
  const { cells, load } = EXPERIMENTS[name]
  const { share, connections, duration_s = DURATION_S } = load
  const rate_rps = share ? Math.max(1, Math.round(share * Number(peak_rps))) : load.rate_rps
  const loop = rate_rps === undefined ? CLOSED : { ...OPEN, rate_rps }
  const at = { experiment: name }
  return {
    visits: matrixVisits({ units: cells.map((cell) => ({ cell, at })), blocks, seed: mix.seed }),
    visit_s: START_S + WARMUP_S + duration_s,
    ...(share && { peak: { at, cell: cells[0], load: PEAK } }),
    counts: (record) => countsIn(name, record),
    loadOf: ({ cell }) => ({ ...loop, connections, warmup_s: WARMUP_S, duration_s, ...loadOf(cell) }),
  }
}
