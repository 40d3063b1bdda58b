/** @import { Cell } from '../../../load/report/record.js' */

/**
 * Two cells under the same load, the reference first.
 *
 * @typedef {object} TwoCells
 * @property {Cell} [common] levels of both
 * @property {[Cell, Cell]} cells
 * @property {ExperimentLoad} load
 *
 * @typedef {object} ExperimentLoad
 * @property {number} connections
 * @property {number} [rate_rps] open loop; without it, and without a share, a closed one
 * @property {number} [share] open loop: times what the reference takes in a closed one
 * @property {number} [duration_s]
 * @property {boolean} [blames_generator] what the generator does is what is looked at, so its trials count whatever it did
 */

const CLOSED = { connections: 128 }
const SINGLE = { INSERT_MODE: 'single' }

/** No request is refused for its age, so that what is looked at is not hidden. */
const PATIENT = { MAX_QUEUE_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000, MAX_LOOP_DELAY_MS: 0 }

/** A database 5 ms away and four connections to it: it takes some 700 requests/s, whatever the machine. */
const FAR = { ...SINGLE, POOL_MAX: 4, DB_DELAY_MS: 5 }

/** @satisfies {Record<string, TwoCells>} */
export const EXPERIMENTS = {
  'soft-limit': {
    cells: [{ INSERT_MODE: 'batched' }, { INSERT_MODE: 'batched', SOFT_NOFILE: 64 }],
    load: { connections: 200, rate_rps: 2000 },
  },
  'hard-limit-below': {
    cells: [{ NOFILE: 1024 }, { NOFILE: 100 }],
    load: { connections: 200, rate_rps: 2000 },
  },
  'hard-limit-above': { cells: [{ NOFILE: 2000 }, { NOFILE: 700 }], load: CLOSED },
  'connect-timeout': {
    common: { ...FAR, ...PATIENT },
    cells: [{ POOL_CONNECT_TIMEOUT_MS: 500 }, { POOL_CONNECT_TIMEOUT_MS: 30000 }],
    load: { connections: 4000, share: 2, duration_s: 3 },
  },
  'pool-far': { common: { ...SINGLE, DB_DELAY_MS: 5 }, cells: [{ POOL_MAX: 4 }, { POOL_MAX: 8 }], load: CLOSED },
  'pool-near': { common: { ...SINGLE, DB_DELAY_MS: 1 }, cells: [{ POOL_MAX: 4 }, { POOL_MAX: 8 }], load: CLOSED },
  'pool-here': { common: { ...SINGLE, DB_DELAY_MS: 0 }, cells: [{ POOL_MAX: 4 }, { POOL_MAX: 8 }], load: CLOSED },
  'pool-large': { common: SINGLE, cells: [{ POOL_MAX: 20 }, { POOL_MAX: 40 }], load: CLOSED },
  'pool-batched': {
    common: { INSERT_MODE: 'batched' },
    cells: [{ POOL_MAX: 20 }, { POOL_MAX: 5 }],
    load: CLOSED,
  },
  prepared: { cells: [SINGLE, { INSERT_MODE: 'prepared' }], load: CLOSED },
  batched: { cells: [SINGLE, { INSERT_MODE: 'batched' }], load: CLOSED },
  'one-slot': { common: { INSERT_MODE: 'batched' }, cells: [{ BATCH_SLOTS: 4 }, { BATCH_SLOTS: 1 }], load: CLOSED },
  'commit-single': {
    common: SINGLE,
    cells: [{ SYNCHRONOUS_COMMIT: 'on' }, { SYNCHRONOUS_COMMIT: 'off' }],
    load: CLOSED,
  },
  'commit-batched': {
    common: { INSERT_MODE: 'batched' },
    cells: [{ SYNCHRONOUS_COMMIT: 'on' }, { SYNCHRONOUS_COMMIT: 'off' }],
    load: CLOSED,
  },
  'semi-space': { cells: [{ SEMI_SPACE_MB: 16 }, { SEMI_SPACE_MB: 64 }], load: CLOSED },
  'node-24': { cells: [{ NODE: 20 }, { NODE: 24 }], load: { connections: 64, rate_rps: 8000 } },
  'node-26': { cells: [{ NODE: 20 }, { NODE: 26 }], load: { connections: 64, rate_rps: 8000 } },
  'log-line': { cells: [{ LOG_LEVEL: 'info' }, { LOG_LEVEL: 'debug' }], load: { connections: 64, rate_rps: 5000 } },
  'fresh-connections': {
    cells: [{ CONNECTIONS: 'kept' }, { CONNECTIONS: 'fresh' }],
    load: { connections: 64, rate_rps: 3000 },
  },
  scrypt: {
    cells: [{ PASSWORD_STORAGE: 'plain' }, { PASSWORD_STORAGE: 'scrypt' }],
    load: { connections: 16 },
  },
  backlog: {
    common: { CONNECTIONS: 'fresh' },
    cells: [{ LISTEN_BACKLOG: 511 }, { LISTEN_BACKLOG: 4 }],
    load: { connections: 200, rate_rps: 1500 },
  },
  shedding: {
    common: { ...FAR, POOL_CONNECT_TIMEOUT_MS: 30000, MAX_LOOP_DELAY_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000 },
    cells: [{ MAX_QUEUE_MS: 0 }, { MAX_QUEUE_MS: 100 }],
    load: { connections: 4000, share: 2, duration_s: 3 },
  },
  'generator-defaults': {
    common: { INSERT_MODE: 'batched' },
    cells: [{ GENERATOR: 'vegeta' }, { GENERATOR: 'vegeta-unbounded' }],
    load: { connections: 200, rate_rps: 8000, blames_generator: true },
  },
}
