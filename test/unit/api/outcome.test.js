import t from 'tap'
import { outcomeOf } from '../../../api/outcome.js'

/** @import { Fate } from '../../../api/outcome.js' */

/** @param {string} code @param {object} [more] */
const error = (code, more) => ({ severity: 'ERROR', code, message: 'what Postgres says', ...more })
const fatal = (/** @type {string} */ code) => error(code, { severity: 'FATAL' })
const panic = (/** @type {string} */ code) => error(code, { severity: 'PANIC' })
const unanswered = (/** @type {string} */ message, /** @type {string} */ code) =>
  Object.assign(new Error(message), { code })

/** @type {[string, any, Fate, boolean][]} subject, error, fate, whether the session ends */
const table = [
  ['a value that is too long', error('22001'), 'refused-row', false],
  ['a character that is not in the encoding', error('22021'), 'refused-row', false],
  ['a character that the encoding cannot represent', error('22P05'), 'refused-row', false],
  ['a number that a generated column cannot hold', error('22003'), 'refused-row', false],
  ['a NULL', error('23502'), 'refused-row', false],
  ['a foreign key', error('23503'), 'refused-row', false],
  ['a duplicate', error('23505'), 'refused-row', false],
  ['a CHECK', error('23514'), 'refused-row', false],
  ['a CHECK OPTION of a view', error('44000'), 'refused-row', false],
  ['an exception that a trigger raises', error('P0001'), 'refused-row', false],
  ['an index entry that is too large', error('54000'), 'refused-row', false],
  ['a policy of row-level security', error('42501', { routine: 'ExecWithCheckOptions' }), 'refused-row', false],

  ['a missing privilege', error('42501', { routine: 'aclcheck_error' }), 'refused-statement', false],
  ['a missing table', error('42P01'), 'refused-statement', false],
  ['a missing column', error('42703'), 'refused-statement', false],
  ['a sequence without further ids', error('2200H'), 'refused-statement', false],
  ['a syntax error', error('42601'), 'refused-statement', false],
  ['a feature that is not supported', error('0A000'), 'refused-statement', false],
  ['an SQLSTATE that nobody knows', error('ZZ999'), 'refused-statement', false],

  ['a statement timeout', error('57014'), 'not-stored', false],
  ['a lock that is not available', error('55P03'), 'not-stored', false],
  ['a deadlock', error('40P01'), 'not-stored', false],
  ['a serialisation failure', error('40001'), 'not-stored', false],
  ['a full disk', error('53100'), 'not-stored', false],
  ['a read error', error('58030'), 'not-stored', false],
  ['an internal error', error('XX000'), 'not-stored', false],
  ['a prepared statement that is not there', error('26000'), 'not-stored', true],
  ['a prepared statement that is there already', error('42P05'), 'not-stored', false],
  ['a table altered since it was prepared', error('0A000', { routine: 'RevalidateCachedQuery' }), 'not-stored', true],
  ['a read-only server', error('25006'), 'not-stored', false],
  ['a session that an administrator ends', fatal('57P01'), 'not-stored', true],
  ['the same in another language', error('57P01', { severity: 'SCHWERWIEGEND' }), 'not-stored', true],
  ['a database that is dropped', fatal('57P04'), 'not-stored', true],
  ['a session that was idle too long', fatal('57P05'), 'not-stored', true],
  [
    'a client that is lost before it sends',
    new Error('Client has encountered a connection error and is not queryable'),
    'not-stored',
    true,
  ],
  ['a client that is closed before it sends', new Error('Client was closed and is not queryable'), 'not-stored', true],

  ['no response in time', new Error('Query read timeout'), 'unknown', true],
  ['a connection that closes', new Error('Connection terminated unexpectedly'), 'unknown', true],
  ['a connection that we close', new Error('Connection terminated'), 'unknown', true],
  ['a reset', unanswered('read ECONNRESET', 'ECONNRESET'), 'unknown', true],
  ['a broken pipe', unanswered('write EPIPE', 'EPIPE'), 'unknown', true],
  ['a response that cannot be parsed', new TypeError('cannot read properties of undefined'), 'unknown', true],
  ['the crash of another backend', error('57P02', { severity: 'WARNING' }), 'unknown', true],
  ['a pooler that lost its server', fatal('08P01'), 'unknown', true],
  ['a connection failure', error('08006'), 'unknown', true],
  ['a panic', panic('XX000'), 'unknown', true],
  ['a full disk under the WAL', panic('53100'), 'unknown', true],
  ['an I/O error that ends the session', fatal('58030'), 'unknown', true],
  ['an I/O error in another language, perhaps a panic', error('58030', { severity: 'PANIK' }), 'unknown', false],
]

for (const [about, cause, fate, endsSession] of table) {
  t.test(`${about}: ${fate}${endsSession ? ', and the session ends' : ''}`, async (t) => {
    t.strictSame(outcomeOf(cause), { fate, endsSession })
  })
}
