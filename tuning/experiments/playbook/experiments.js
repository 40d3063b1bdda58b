import { isValid } from '../../../load/capacity/ladder.js'

/**
 * @import { Cell, TrialRecord } from '../../../load/report/record.js'
 */

/**
 * @typedef {{ connections: number, rate_rps?: number, share?: number, warmup_s?: number, duration_s?: number, blames_generator?: boolean }} ExperimentLoad
 *   an open loop at a rate, or at a share of the reference's closed-loop peak; otherwise a closed loop; blames_generator: the
 *   experiment is about the generator, so its trials count even if the generator is to blame
 */

const SINGLE = { INSERT_MODE: 'single' }
const BATCHED = { INSERT_MODE: 'batched' }

/** Refuses no waiting request: a refusal would hide the effect. */
const PATIENT = { MAX_QUEUE_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000, MAX_LOOP_DELAY_MS: 0 }

/** Four connections to a database 5 ms away: they carry some 700 requests/s on any machine. */
const FAR = { ...SINGLE, POOL_MAX: 4, DB_DELAY_MS: 5 }
/** V8 compiles, in threads of its own, until the process has served some 100,000 requests: small differences in CPU are compared after that. */
const WARM = { warmup_s: 14, duration_s: 4 }
const TWICE = { connections: 4000, share: 2, duration_s: 3 }

const POOLS = [{ POOL_MAX: 4 }, { POOL_MAX: 8 }]
const COMMITS = [{ SYNCHRONOUS_COMMIT: 'on' }, { SYNCHRONOUS_COMMIT: 'off' }]

/** Cells under the same load, the reference first. @type {Record<string, ReturnType<typeof cells>>} */
export const EXPERIMENTS = {
  'soft-limit': cells(BATCHED, [{}, { SOFT_NOFILE: 64 }], { connections: 200, rate_rps: 2000 }),
  'hard-limit-above': cells({}, [{ NOFILE: 2000 }, { NOFILE: 700 }]),
  'connect-timeout': cells(
    { ...FAR, ...PATIENT },
    [{ POOL_CONNECT_TIMEOUT_MS: 500 }, { POOL_CONNECT_TIMEOUT_MS: 30000 }],
    TWICE,
  ),
  'pool-far': cells({ ...SINGLE, DB_DELAY_MS: 5 }, POOLS),
  'pool-near': cells({ ...SINGLE, DB_DELAY_MS: 1 }, POOLS),
  'pool-here': cells({ ...SINGLE, DB_DELAY_MS: 0 }, POOLS),
  'pool-large': cells(SINGLE, [{ POOL_MAX: 20 }, { POOL_MAX: 40 }]),
  'pool-batched': cells(BATCHED, [{ POOL_MAX: 20 }, { POOL_MAX: 5 }]),
  prepared: cells({}, [SINGLE, { INSERT_MODE: 'prepared' }], { connections: 128, ...WARM }),
  batched: cells({}, [SINGLE, BATCHED]),
  'one-slot': cells(BATCHED, [{ BATCH_SLOTS: 4 }, { BATCH_SLOTS: 1 }]),
  'commit-single': cells(SINGLE, COMMITS),
  'commit-batched': cells(BATCHED, COMMITS),
  'semi-space': cells({}, [{ SEMI_SPACE_MB: 16 }, { SEMI_SPACE_MB: 64 }], { connections: 64, rate_rps: 8000, ...WARM }),
  node: cells({}, [{ NODE: 20 }, { NODE: 24 }, { NODE: 26 }], { connections: 64, rate_rps: 8000, ...WARM }),
  'log-line': cells({}, [{ LOG_LEVEL: 'info' }, { LOG_LEVEL: 'debug' }], { connections: 64, rate_rps: 5000 }),
  'fresh-connections': cells({}, [{ CONNECTIONS: 'kept' }, { CONNECTIONS: 'fresh' }], {
    connections: 64,
    rate_rps: 3000,
  }),
  scrypt: cells({}, [{ PASSWORD_STORAGE: 'plain' }, { PASSWORD_STORAGE: 'scrypt' }], { connections: 16 }),
  backlog: cells({ CONNECTIONS: 'fresh' }, [{ LISTEN_BACKLOG: 511 }, { LISTEN_BACKLOG: 4 }], {
    connections: 200,
    rate_rps: 1500,
  }),
  shedding: cells(
    { ...FAR, POOL_CONNECT_TIMEOUT_MS: 30000, MAX_LOOP_DELAY_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000 },
    [{ MAX_QUEUE_MS: 0 }, { MAX_QUEUE_MS: 100 }],
    TWICE,
  ),
  'generator-defaults': cells(BATCHED, [{ GENERATOR: 'vegeta' }, { GENERATOR: 'vegeta-unbounded' }], {
    connections: 200,
    rate_rps: 8000,
    blames_generator: true,
  }),
}

/**
 * Cells under the same load, by default a closed loop.
 * @param {Cell} common levels of all cells @param {Cell[]} levels of each cell, the reference first @param {ExperimentLoad} [load]
 */
function cells(common, levels, load = { connections: 128 }) {
  return { cells: levels.map((own) => ({ ...common, ...own })), load }
}

/** Whether a trial counts as a measurement. @param {string} name @param {TrialRecord} record */
export function countsIn(name, record) {
  return isValid(record) || Boolean(EXPERIMENTS[name].load.blames_generator && record.outcome.blame === 'generator')
}
