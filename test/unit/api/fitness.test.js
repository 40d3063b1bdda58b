import t from 'tap'
import { unfitness } from '../../../api/fitness.js'

const ID = { type: 'bigint', is_integer: true, is_text: false, characters: null, needs_value: false }
const TEXT = { type: 'character varying(255)', is_integer: false, is_text: true, characters: 255, needs_value: true }
const OPEN = { is_generated: false, may_insert: true, may_select: true }

const COLUMNS = { id: { ...ID, ...OPEN }, email: { ...TEXT, ...OPEN }, password: { ...TEXT, ...OPEN } }

const INT4_MAX = 2 ** 31 - 1
const INT8_MAX = '9223372036854775807'
const BIGINT = { first: '1', final: INT8_MAX, increment: '1', last: '7', column_bits: 64, may_use: true }
const SERIAL = { ...BIGINT, final: String(INT4_MAX), column_bits: 32 }

const FIT = { encoding: 'UTF8', is_read_only: false, has_table: true, columns: COLUMNS, ids: BIGINT }

/** @param {string} name @param {object} change */
const column = (name, change) => ({
  columns: { ...COLUMNS, [name]: { .../** @type {any} */ (COLUMNS)[name], ...change } },
})

/** @param {string} name */
const without = (name) => ({ columns: Object.fromEntries(Object.entries(COLUMNS).filter(([key]) => key !== name)) })

/** @param {object} change */
const serial = (change) => ({ ids: { ...SERIAL, ...change } })

const ok = null
const misfit = 'the columns of users do not fit'
const denied = 'no permission to store users'
const fewIds = 'the ids run out'

/** @type {[string, object, string | null, (string | RegExp)?][]} */
const TABLE = [
  ['the schema as it is', {}, ok],
  ['a standby', { is_read_only: true }, 'the server is read-only'],
  [
    'a standby without the table',
    { is_read_only: true, has_table: false, columns: null, ids: null },
    'the server is read-only',
  ],
  [
    'an encoding without a check',
    { encoding: 'SQL_ASCII' },
    'the database encoding is not UTF8',
    /expected UTF8, got SQL_ASCII/,
  ],
  ['an encoding of western Europe', { encoding: 'LATIN1' }, 'the database encoding is not UTF8'],
  ['no table', { has_table: false, columns: null, ids: null }, 'the table users is missing'],
  ['a table without columns', { columns: null, ids: null }, misfit, /^id: expected an integer, got no such column/],

  ['no email', without('email'), misfit, /^email: expected text, got no such column/],
  [
    'an email that is a number',
    column('email', { type: 'integer', is_text: false }),
    misfit,
    /^email: expected text, got integer/,
  ],
  [
    'an email that is too short',
    column('email', { type: 'character varying(254)', characters: 254 }),
    misfit,
    /at least 255 characters, got character varying\(254\)/,
  ],
  ['an email of any length', column('email', { type: 'text', characters: null }), ok],
  ['a generated password', column('password', { is_generated: true }), misfit, /^password: .* generated/],
  [
    'an id that is a uuid',
    column('id', { type: 'uuid', is_integer: false }),
    misfit,
    /^id: expected an integer, got uuid/,
  ],
  [
    'an id without a default',
    { ...column('id', { needs_value: true }), ids: null },
    misfit,
    /^id: expected a sequence as its default/,
  ],
  ['an id with a default that is no sequence', { ids: null }, ok],
  ['another column with a default', column('created', { ...TEXT, ...OPEN, needs_value: false }), ok],
  [
    'another column that needs a value',
    column('name', { ...TEXT, ...OPEN }),
    misfit,
    /^name: expected a default or NULL allowed/,
  ],

  ['no INSERT on a column', column('password', { may_insert: false }), denied],
  ['no SELECT on the id, which RETURNING reads', column('id', { may_select: false }), denied],
  ['no INSERT on the id, which nobody needs', column('id', { may_insert: false }), ok],
  ['no USAGE on the sequence', serial({ may_use: false }), denied],

  ['a serial id with more than the margin left', serial({ last: String(INT4_MAX - 1_000_001) }), ok],
  [
    'a serial id at the margin',
    serial({ last: String(INT4_MAX - 1_000_000) }),
    fewIds,
    /got 1000000 of 2147483647 left/,
  ],
  ['a serial id at its end', serial({ last: String(INT4_MAX) }), fewIds, /got 0 of/],
  [
    'a sequence of 64 bits behind a column of 32',
    serial({ final: INT8_MAX, last: String(INT4_MAX - 5) }),
    fewIds,
    /got 5 of 2147483647 left/,
  ],
  [
    'a sequence of 64 bits beyond a column of 32',
    serial({ final: INT8_MAX, last: String(INT4_MAX + 5) }),
    fewIds,
    /got 0 of/,
  ],
  ['a bigint id that a serial one would have ended', { ids: { ...BIGINT, last: String(INT4_MAX) } }, ok],
  ['a bigint id at its end', { ids: { ...BIGINT, last: INT8_MAX } }, fewIds],
  ['a sequence that has given no id', serial({ last: null }), ok],
  ['a small sequence, fresh', serial({ final: '1000', last: null }), ok],
  ['a small sequence with more than a hundredth left', serial({ final: '1000', last: '989' }), ok],
  ['a small sequence with a hundredth left', serial({ final: '1000', last: '990' }), fewIds, /got 10 of 1000 left/],
  ['a smallint id', { ids: { ...BIGINT, column_bits: 16, last: '32700' } }, fewIds, /got 67 of 32767 left/],
  [
    'steps of a thousand',
    serial({ increment: '1000', last: String(INT4_MAX - 1_000_000) }),
    fewIds,
    /got 1000 of 2147484 left/,
  ],
  [
    'a sequence that counts down, so that shared statements would mix up the ids',
    serial({ first: '-1000', final: '-1', increment: '-1', last: '-500' }),
    misfit,
    /counts up, got INCREMENT BY -1/,
  ],
]

t.test('what a database is like decides whether it can store users', async (t) => {
  for (const [what, change, status, detail] of TABLE) {
    const found = unfitness(/** @type {any} */ ({ ...FIT, ...change }))
    t.equal(found?.status ?? null, status, what)
    if (detail) t.match(found?.detail, detail, `${what}: what was expected`)
  }
})
