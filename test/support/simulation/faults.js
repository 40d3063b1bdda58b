/**
 * @import { ProblemCode } from '../../../api/errors.js'
 * @import { ServerError } from './wire.js'
 */

/**
 * Every way in which a statement can go wrong, and what its requests must then be told. `told` is written down here for
 * each fault by itself, so that it does not repeat the rules of api/outcome.js.
 * @typedef {object} Fault
 * @property {ServerError} [error] what the server answers instead of a result
 * @property {'parse' | 'bind' | 'execute'} [at] the message that the error answers; `execute` unless said otherwise
 * @property {boolean} [commits] the row is stored all the same
 * @property {'none' | 'warning' | 'part' | 'garbage' | 'malformed'} [answer] how much of the answer arrives, where not all of it
 * @property {'close' | 'reset' | 'silence'} [end] how the session ends
 * @property {boolean} [forgets] the session loses its prepared statements
 * @property {boolean} [stales] what the session has prepared is of no use any more
 * @property {ProblemCode} told
 */

/** @param {string} code @param {string} [routine] */
const error = (code, routine) => ({ severity: 'ERROR', code, routine })
const fatal = (/** @type {string} */ code) => ({ severity: 'FATAL', code })
const panic = (/** @type {string} */ code) => ({ severity: 'PANIC', code })

/** @satisfies {Record<string, Fault>} */
const REFUSALS = {
  duplicate: { error: error('23505'), told: 'user_exists' },
  'too long': { error: error('22001'), told: 'row_refused' },
  'raised by a trigger': { error: error('U0001', 'exec_stmt_raise'), told: 'row_refused' },
  privilege: { error: error('42501'), at: 'parse', told: 'database_refused' },
  'no table': { error: error('42P01'), at: 'parse', told: 'database_refused' },
  'no ids left': { error: error('2200H'), told: 'database_refused' },
  unprepared: { error: error('26000'), at: 'bind', forgets: true, told: 'database_unavailable' },
  'prepared twice': { error: error('42P05'), at: 'parse', told: 'database_unavailable' },
  'stale plan': {
    error: error('0A000', 'RevalidateCachedQuery'),
    at: 'bind',
    stales: true,
    told: 'database_unavailable',
  },
  'read-only': { error: error('25006'), told: 'database_unavailable' },
  cancelled: { error: error('57014'), told: 'database_unavailable' },
  deadlock: { error: error('40P01'), told: 'database_unavailable' },
  serialisation: { error: error('40001'), told: 'database_unavailable' },
  'too many connections': { error: error('53300'), told: 'database_unavailable' },
  'disk full': { error: error('53100'), told: 'database_unavailable' },
  'I/O error': { error: error('58030'), told: 'database_unavailable' },
  'internal error': { error: error('XX000'), told: 'database_unavailable' },
  terminated: { error: fatal('57P01'), end: 'close', told: 'database_unavailable' },
  'terminated and reset': { error: fatal('57P01'), end: 'reset', told: 'database_unavailable' },
}

/** @satisfies {Record<string, Fault>} */
const LOSSES = {
  crash: { error: fatal('57P02'), end: 'close', told: 'outcome_unknown' },
  'crash after commit': { error: fatal('57P02'), commits: true, end: 'close', told: 'outcome_unknown' },
  'lost by a pooler': { error: error('08006'), end: 'close', told: 'outcome_unknown' },
  'lost by a pooler after commit': { error: error('08006'), commits: true, end: 'close', told: 'outcome_unknown' },
  'PANIC after commit': { error: panic('53100'), commits: true, end: 'close', told: 'outcome_unknown' },
  'PANIC of another kind': { error: panic('55000'), commits: true, end: 'close', told: 'outcome_unknown' },
  'disk full in commit': { error: fatal('53100'), commits: true, end: 'close', told: 'outcome_unknown' },
  'terminated in commit': { commits: true, answer: 'warning', end: 'close', told: 'outcome_unknown' },
  'reset before': { answer: 'none', end: 'reset', told: 'outcome_unknown' },
  'reset after commit': { commits: true, answer: 'none', end: 'reset', told: 'outcome_unknown' },
  'closed before': { answer: 'none', end: 'close', told: 'outcome_unknown' },
  'reset in the answer': { commits: true, answer: 'part', end: 'reset', told: 'outcome_unknown' },
  'closed in the answer': { commits: true, answer: 'part', end: 'close', told: 'outcome_unknown' },
  'silence before': { answer: 'none', end: 'silence', told: 'outcome_unknown' },
  'silence after commit': { commits: true, answer: 'none', end: 'silence', told: 'outcome_unknown' },
  'silence in the answer': { commits: true, answer: 'part', end: 'silence', told: 'outcome_unknown' },
  garbage: { answer: 'garbage', end: 'silence', told: 'outcome_unknown' },
  'garbage after commit': { commits: true, answer: 'garbage', end: 'close', told: 'outcome_unknown' },
  'a malformed row': { commits: true, answer: 'malformed', end: 'silence', told: 'outcome_unknown' },
}

/** @type {Record<string, Fault>} by a name that a reader of a failing seed understands */
export const STATEMENT_FAULTS = { ...REFUSALS, ...LOSSES }

/**
 * @typedef {object} LoginFault
 * @property {ServerError} [error]
 * @property {boolean} [isWelcome] the error follows a login that succeeds, in the same piece
 * @property {boolean} [isRefused]
 * @property {boolean} [isLost]
 * @property {'close' | 'reset' | 'silence'} [end]
 * @property {'garbage' | 'mechanism'} [answer]
 */

/** @type {Record<string, LoginFault>} no statement has been sent by then: 503 */
export const LOGIN_FAULTS = {
  'connection refused': { isRefused: true },
  unreachable: { isLost: true },
  'no such password': { error: fatal('28P01'), end: 'close' },
  'too many sessions': { error: fatal('53300'), end: 'close' },
  'starting up': { error: fatal('57P03'), end: 'close' },
  'terminated as soon as logged in': { isWelcome: true, error: fatal('57P01'), end: 'close' },
  'login reset': { end: 'reset' },
  'login closed': { end: 'close' },
  'login unanswered': { end: 'silence' },
  'login by a mechanism that pg lacks': { answer: 'mechanism' },
  'login garbage': { answer: 'garbage', end: 'silence' },
}

/**
 * What the server does to every session at once, at some time.
 *
 * - `terminate`: FATAL, except to a session in its commit, which gets it afterwards
 * - `reset`, `close`: the way to the server is gone; what it works on is still committed
 * - `silence`: the same, but nobody says so
 * - `demote`: sessions opened so far are on a server that is read-only from now on
 */
export const STORMS = /** @type {const} */ (['terminate', 'reset', 'close', 'silence', 'demote'])
