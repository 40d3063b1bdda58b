import { pair, prose } from '../answers.js'
import { AUDIT_LOCK_MS, closed, goodput, offered, PATIENT, rounded, unsolved } from '../kit.js'

/**
 * @import { Cell } from '../../../load/report/record.js'
 * @import { Found, Rules } from '../exercise.js'
 */

const DELAY_MS = 20
const CLOCK_MIN = 15

const HEALTHY = { ...PATIENT, INSERT_MODE: 'single', POOL_MAX: 2, POOL_CONNECT_TIMEOUT_MS: 2000 }

/** Two faults that wait instead of computing, so that each keeps any machine below 100/s. */
const FAULTY = { ...HEALTHY, DB_DELAY_MS: DELAY_MS, AUDIT_TRAIL: 'on' }

/** Rate to be served: a share of last week's, within bounds that the faults miss clearly and the repaired service does not. */
const SHARE = 0.25
const LEAST_RPS = 150
const MOST_RPS = 400

const LOAD = { connections: 256, duration_s: 4 }

/** A queue is what the incident consists of, so such a trial counts. */
const BROKEN = { connections: 1000, duration_s: 4, countsAlways: true }

/** The service after each change. @type {Record<string, (service: Cell) => Cell>} */
const CHANGES = {
  timeout: (service) => ({ ...service, POOL_CONNECT_TIMEOUT_MS: 10_000 }),
  refuse: (service) => ({ ...service, MAX_QUEUE_MS: 100 }),
  pool: (service) => ({ ...service, POOL_MAX: 40 }),
  prepared: (service) => ({ ...service, INSERT_MODE: 'prepared' }),
  commit: (service) => ({ ...service, SYNCHRONOUS_COMMIT: 'off' }),
  clients: (service) => ({ ...service, MAX_CONNECTIONS: 20_000 }),
  threads: (service) => ({ ...service, UV_THREADPOOL_SIZE: 16 }),
  audit: ({ AUDIT_TRAIL, ...service }) => service,
}

/** The change that lifts each limit; a limit without an entry has none here. @type {Record<string, string>} */
const LIFTED_BY = {
  'api-threadpool': 'threads',
  'max-connections': 'clients',
  'pool-size': 'pool',
  'postgres-cpu': 'prepared',
  'postgres-commit': 'commit',
  'postgres-lock': 'audit',
}

const both = (/** @type {string[]} */ changes) => changes.join(' + ')
const only = (/** @type {string} */ change) => `only ${change}`

/** @type {Rules} */
export const incident = {
  constants: { delay_ms: DELAY_MS, clock_min: CLOCK_MIN },
  clock_min: CLOCK_MIN,
  before: () => closed('last week', HEALTHY, 64),
  first: (found) => [broken('today', FAULTY, found)],
  columns: ['goodput/s', 'success', 'p99', 'API core', 'Postgres', 'pool used', 'waiting', 'statement', 'locked'],
  limits: { kind: pair, solution: () => 'pool-size postgres-lock', wrong: 'pool-size postgres-cpu' },
  turn: { kind: pair, solution: () => 'pool audit', wrong: 'pool timeout' },
  // A change that is made alone is meant to fail.
  again: (found) => [
    offered(both(found.answers.turn), changed(found.answers.turn), rateOf(found), LOAD),
    ...found.answers.turn.map((/** @type {string} */ change) => broken(only(change), changed([change]), found)),
  ],
  outcome: ({ trials, answers: { limits, turn } }) => {
    const { verdict, because } = trials[both(turn)].outcome
    if (verdict !== 'pass') return unsolved(`with both changes, ${because}`)
    const untouched = limits.find((/** @type {string} */ limit) => !turn.includes(LIFTED_BY[limit]))
    if (untouched) return unsolved(`the promise is kept, but you named ${untouched}, and nothing was done about it`)
    const enough = turn.find((/** @type {string} */ change) => trials[only(change)].outcome.verdict === 'pass')
    if (enough) return unsolved(`"${enough}" alone keeps the promise, so the other change was not needed`)
    return { solved: true, because: 'the promise is kept with both changes, and broken with either one alone' }
  },
  explain: {
    kind: prose(20, 1000),
    solution: () =>
      `Two connections to a database ${DELAY_MS} ms away, and behind them a lock that each insert holds for ${AUDIT_LOCK_MS} ms.`,
  },
}

/** @param {string} name @param {Cell} cell @param {Found} found */
function broken(name, cell, found) {
  return offered(name, cell, rateOf(found), BROKEN)
}

/** @param {string[]} changes */
function changed(changes) {
  return changes.reduce((service, change) => CHANGES[change](service), /** @type {Cell} */ (FAULTY))
}

/** @param {Found} found */
function rateOf(found) {
  return rounded(Math.min(MOST_RPS, Math.max(LEAST_RPS, SHARE * goodput(found, 'last week'))))
}
