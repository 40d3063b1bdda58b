import { isValid } from '../../../load/capacity/ladder.js'

/** @import { Cell, TrialRecord } from '../../../load/report/record.js' */

/**
 * Two cells under the same load, the reference first.
 *
 * @typedef {object} TwoCells
 * @property {Cell} [common] levels of both
 * @property {[Cell, Cell]} cells
 * @property {ExperimentLoad} [load] by default a closed loop of 128 connections
 *
 * @typedef {object} ExperimentLoad
 * @property {number} connections
 * @property {number} [rate_rps] open loop; without it, and without a share, a closed one
 * @property {number} [share] open loop: times what the reference takes in a closed one
 * @property {number} [duration_s]
 * @property {boolean} [blames_generator] what the generator does is what is looked at, so its trials count whatever it did
 */

const SINGLE = { INSERT_MODE: 'single' }
const BATCHED = { INSERT_MODE: 'batched' }

/** No request is refused for its age, so that what is looked at is not hidden. */
const PATIENT = { MAX_QUEUE_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000, MAX_LOOP_DELAY_MS: 0 }

/** A database 5 ms away and four connections to it: it takes some 700 requests/s, whatever the machine. */
const FAR = { ...SINGLE, POOL_MAX: 4, DB_DELAY_MS: 5 }
const TWICE = { connections: 4000, share: 2, duration_s: 3 }

/** @type {[Cell, Cell]} */
const POOLS = [{ POOL_MAX: 4 }, { POOL_MAX: 8 }]
/** @type {[Cell, Cell]} */
const COMMITS = [{ SYNCHRONOUS_COMMIT: 'on' }, { SYNCHRONOUS_COMMIT: 'off' }]

/** @type {Record<string, TwoCells>} */
export const EXPERIMENTS = {
  'soft-limit': { cells: [BATCHED, { ...BATCHED, SOFT_NOFILE: 64 }], load: { connections: 200, rate_rps: 2000 } },
  'hard-limit-below': { cells: [{ NOFILE: 1024 }, { NOFILE: 100 }], load: { connections: 200, rate_rps: 2000 } },
  'hard-limit-above': { cells: [{ NOFILE: 2000 }, { NOFILE: 700 }] },
  'connect-timeout': {
    common: { ...FAR, ...PATIENT },
    cells: [{ POOL_CONNECT_TIMEOUT_MS: 500 }, { POOL_CONNECT_TIMEOUT_MS: 30000 }],
    load: TWICE,
  },
  'pool-far': { common: { ...SINGLE, DB_DELAY_MS: 5 }, cells: POOLS },
  'pool-near': { common: { ...SINGLE, DB_DELAY_MS: 1 }, cells: POOLS },
  'pool-here': { common: { ...SINGLE, DB_DELAY_MS: 0 }, cells: POOLS },
  'pool-large': { common: SINGLE, cells: [{ POOL_MAX: 20 }, { POOL_MAX: 40 }] },
  'pool-batched': { common: BATCHED, cells: [{ POOL_MAX: 20 }, { POOL_MAX: 5 }] },
  prepared: { cells: [SINGLE, { INSERT_MODE: 'prepared' }] },
  batched: { cells: [SINGLE, BATCHED] },
  'one-slot': { common: BATCHED, cells: [{ BATCH_SLOTS: 4 }, { BATCH_SLOTS: 1 }] },
  'commit-single': { common: SINGLE, cells: COMMITS },
  'commit-batched': { common: BATCHED, cells: COMMITS },
  'semi-space': { cells: [{ SEMI_SPACE_MB: 16 }, { SEMI_SPACE_MB: 64 }] },
  'node-24': { cells: [{ NODE: 20 }, { NODE: 24 }], load: { connections: 64, rate_rps: 8000 } },
  'node-26': { cells: [{ NODE: 20 }, { NODE: 26 }], load: { connections: 64, rate_rps: 8000 } },
  'log-line': { cells: [{ LOG_LEVEL: 'info' }, { LOG_LEVEL: 'debug' }], load: { connections: 64, rate_rps: 5000 } },
  'fresh-connections': {
    cells: [{ CONNECTIONS: 'kept' }, { CONNECTIONS: 'fresh' }],
    load: { connections: 64, rate_rps: 3000 },
  },
  scrypt: { cells: [{ PASSWORD_STORAGE: 'plain' }, { PASSWORD_STORAGE: 'scrypt' }], load: { connections: 16 } },
  backlog: {
    common: { CONNECTIONS: 'fresh' },
    cells: [{ LISTEN_BACKLOG: 511 }, { LISTEN_BACKLOG: 4 }],
    load: { connections: 200, rate_rps: 1500 },
  },
  shedding: {
    common: { ...FAR, POOL_CONNECT_TIMEOUT_MS: 30000, MAX_LOOP_DELAY_MS: 0, MAX_QUEUE_REQUESTS: 1_000_000 },
    cells: [{ MAX_QUEUE_MS: 0 }, { MAX_QUEUE_MS: 100 }],
    load: TWICE,
  },
  'generator-defaults': {
    common: BATCHED,
    cells: [{ GENERATOR: 'vegeta' }, { GENERATOR: 'vegeta-unbounded' }],
    load: { connections: 200, rate_rps: 8000, blames_generator: true },
  },
}

/** @param {string} name @returns {ExperimentLoad} */
export function loadOf(name) {
  return EXPERIMENTS[name].load ?? { connections: 128 }
}

/** Both cells, the reference first. @param {string} name @returns {Cell[]} */
export function cellsOf(name) {
  const { common = {}, cells } = EXPERIMENTS[name]
  return cells.map((levels) => ({ ...common, ...levels }))
}

/** Whether a trial is a measurement. @param {string} name @param {TrialRecord} record */
export function countsIn(name, record) {
  return isValid(record) || Boolean(loadOf(name).blames_generator && record.outcome.blame === 'generator')
}
