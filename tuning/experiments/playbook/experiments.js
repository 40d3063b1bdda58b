import { isValid } from '../../../load/capacity/ladder.js'

/** @import { Cell, TrialRecord } from '../../../load/report/record.js' */

/**
 * @typedef {object} ExperimentLoad
 * @property {number} connections
 * @property {number} [rate_rps] open loop; without it, and without a share, a closed one
 * @property {number} [share] open loop: times what the reference takes in a closed one
 * @property {number} [duration_s]
 * @property {boolean} [blames_generator] the experiment is about the generator, so its trials count whatever it did
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
