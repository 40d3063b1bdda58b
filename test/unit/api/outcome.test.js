import t from 'tap'
import { outcomeOf } from '../../../api/outcome.js'

/** @import { ProblemCode } from '../../../api/errors.js' */

/** @param {string} code @param {object} [more] */
const error = (code, more) => ({ severity: 'ERROR', code, message: 'what Postgres says', ...more })
const fatal = (/** @type {string} */ code) => error(code, { severity: 'FATAL' })
const panic = (/** @type {string} */ code) => error(code, { severity: 'PANIC' })
const raised = (/** @type {string} */ code) => error(code, { routine: 'exec_stmt_raise' })
const unanswered = (/** @type {string} */ message, /** @type {string} */ code) =>
  Object.assign(new Error(message), { code })

/** @type {[string, any, ProblemCode, boolean][]} subject, error, problem, whether the session ends */
const table = [
  ['a value that is too long', error('22001'), 'row_refused', false],
  ['a character that is not in the encoding', error('22021'), 'row_refused', false],
  ['a character that the encoding cannot represent', error('22P05'), 'row_refused', false],
  ['a number that a generated column cannot hold', error('22003'), 'row_refused', false],
  ['a NULL', error('23502'), 'row_refused', false],
  ['a foreign key', error('23503'), 'row_refused', false],
  ['a duplicate', error('23505', { constraint: 'users_email_key' }), 'user_exists', false],
  ['an id that was handed out twice', error('23505', { constraint: 'users_pkey' }), 'row_refused', false],
  ['a CHECK', error('23514'), 'row_refused', false],
  ['a CHECK OPTION of a view', error('44000'), 'row_refused', false],
  ['an exception that a trigger raises', error('P0001'), 'row_refused', false],
  ['an SQLSTATE of its own that a trigger raises', raised('U0001'), 'row_refused', false],
  ['a missing privilege that a trigger raises', raised('42501'), 'row_refused', false],
  ['a lost connection that a trigger raises', raised('08006'), 'row_refused', false],
  ['a duplicate that a trigger raises', raised('23505'), 'user_exists', false],
  ['a lock that a trigger could not get', raised('55P03'), 'database_unavailable', false],
  ['an exception of a trigger in Python or Perl', error('38000'), 'row_refused', false],
  ['an index entry that is too large', error('54000'), 'row_refused', false],
  ['a policy of row-level security', error('42501', { routine: 'ExecWithCheckOptions' }), 'row_refused', false],

  ['a missing privilege', error('42501', { routine: 'aclcheck_error' }), 'database_refused', false],
  ['a missing table', error('42P01'), 'database_refused', false],
  ['a missing column', error('42703'), 'database_refused', false],
  ['a sequence without further ids', error('2200H'), 'database_refused', false],
  ['a syntax error', error('42601'), 'database_refused', false],
  ['a feature that is not supported', error('0A000'), 'database_refused', false],
  ['an SQLSTATE that nobody knows', error('ZZ999'), 'database_refused', false],

  ['a statement timeout', error('57014'), 'database_unavailable', false],
  ['a lock that is not available', error('55P03'), 'database_unavailable', false],
  ['a deadlock', error('40P01'), 'database_unavailable', false],
  ['a serialisation failure', error('40001'), 'database_unavailable', false],
  ['a full disk', error('53100'), 'database_unavailable', false],
  ['a read error', error('58030'), 'database_unavailable', false],
  ['an internal error', error('XX000'), 'database_unavailable', false],
  ['a prepared statement that is not there', error('26000'), 'database_unavailable', true],
  ['a prepared statement that is there already', error('42P05'), 'database_unavailable', false],
  [
    'a table altered since it was prepared',
    error('0A000', { routine: 'RevalidateCachedQuery' }),
    'database_unavailable',
    true,
  ],
  ['a completion that is unknown', error('40003'), 'outcome_unknown', false],
  ["a transaction's timeout", fatal('25P04'), 'database_unavailable', true],
  ['a read-only server', error('25006'), 'database_unavailable', false],
  ['a session that an administrator ends', fatal('57P01'), 'database_unavailable', true],
  ['the same in another language', error('57P01', { severity: 'SCHWERWIEGEND' }), 'database_unavailable', true],
  ['a database that is dropped', fatal('57P04'), 'database_unavailable', true],
  ['a session that was idle too long', fatal('57P05'), 'database_unavailable', true],
  [
    'a client that is lost before it sends',
    new Error('Client has encountered a connection error and is not queryable'),
    'database_unavailable',
    true,
  ],
  [
    'a client that is closed before it sends',
    new Error('Client was closed and is not queryable'),
    'database_unavailable',
    true,
  ],

  ['no response in time', new Error('Query read timeout'), 'outcome_unknown', true],
  ['a connection that closes', new Error('Connection terminated unexpectedly'), 'outcome_unknown', true],
  ['a connection that we close', new Error('Connection terminated'), 'outcome_unknown', true],
  ['a reset', unanswered('read ECONNRESET', 'ECONNRESET'), 'outcome_unknown', true],
  ['a broken pipe', unanswered('write EPIPE', 'EPIPE'), 'outcome_unknown', true],
  ['a response that cannot be parsed', new TypeError('cannot read properties of undefined'), 'outcome_unknown', true],
  ['the crash of another backend', error('57P02', { severity: 'WARNING' }), 'outcome_unknown', true],
  ['a pooler that lost its server', fatal('08P01'), 'outcome_unknown', true],
  ['a connection failure', error('08006'), 'outcome_unknown', true],
  ['a panic', panic('XX000'), 'outcome_unknown', true],
  ['a full disk under the WAL', panic('53100'), 'outcome_unknown', true],
  ['an I/O error that ends the session', fatal('58030'), 'outcome_unknown', true],
  [
    'an I/O error in another language, perhaps a panic',
    error('58030', { severity: 'PANIK' }),
    'outcome_unknown',
    false,
  ],
]

for (const [about, cause, problem, endsSession] of table) {
  t.test(`${about}: ${problem}${endsSession ? ', and the session ends' : ''}`, async (t) => {
    t.strictSame(outcomeOf(cause), { problem, endsSession })
  })
}
