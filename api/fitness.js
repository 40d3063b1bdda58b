import { MAX_FIELD_CHARACTERS } from './users.js'

/**
 * Reads everything that determines whether this database can store users. It reads only the catalogs, so it takes no lock on
 * the table and waits for none. The sequence is the one that `id` defaults to: the one behind an identity column
 * (deptype i), or the argument of nextval() in a serial column's default.
 */
export const FACTS = `
  WITH relation AS (
    SELECT oid, relkind IN ('r', 'p') AS is_table FROM pg_class WHERE oid = to_regclass('users')
  ), attribute AS (
    SELECT a.*, is_table FROM relation JOIN pg_attribute a ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped
  ), sequence AS (
    SELECT s.*, attlen, attidentity <> '' AS is_identity
    FROM attribute, LATERAL (
      SELECT objid AS oid FROM pg_depend
      WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass
        AND refobjid = attrelid AND refobjsubid = attnum AND deptype = 'i'
      UNION ALL
      SELECT refobjid FROM pg_depend JOIN pg_attrdef d ON classid = 'pg_attrdef'::regclass AND objid = d.oid
      WHERE adrelid = attrelid AND adnum = attnum AND refclassid = 'pg_class'::regclass
    ) AS source JOIN pg_sequence s ON seqrelid = source.oid
    WHERE attname = 'id'
    LIMIT 1
  )
  SELECT current_setting('server_encoding') AS encoding,
    pg_is_in_recovery() OR current_setting('transaction_read_only')::bool AS is_read_only,
    EXISTS (SELECT FROM relation) AS has_table,
    (SELECT json_object_agg(attname, json_build_object(
        'type', format_type(atttypid, atttypmod),
        'is_integer', coalesce(nullif(typbasetype, 0), atttypid) IN ('int2'::regtype, 'int4'::regtype, 'int8'::regtype),
        'is_text', typcategory = 'S',
        'characters', CASE WHEN typcategory = 'S' AND atttypmod > 0 THEN atttypmod - 4 END,
        'needs_value', is_table AND attnotnull AND NOT atthasdef AND attidentity = '',
        'is_generated', attgenerated <> '',
        'may_insert', has_column_privilege(attrelid, attnum, 'INSERT'),
        'may_select', has_column_privilege(attrelid, attnum, 'SELECT')))
      FROM attribute JOIN pg_type ON pg_type.oid = atttypid) AS columns,
    (SELECT json_build_object(
        'first', seqmin::text,
        'final', seqmax::text,
        'increment', seqincrement::text,
        'last', CASE WHEN has_sequence_privilege(seqrelid, 'SELECT, USAGE') AND NOT pg_is_in_recovery()
          THEN pg_sequence_last_value(seqrelid)::text END,
        'column_bits', attlen * 8,
        'may_use', is_identity OR has_sequence_privilege(seqrelid, 'USAGE, UPDATE'))
      FROM sequence) AS ids`

/**
 * @typedef {object} Facts the row that FACTS returns
 * @property {string} encoding
 * @property {boolean} is_read_only the server is a standby, or transactions are read-only by default
 * @property {boolean} has_table
 * @property {Record<string, Column> | null} columns by name
 * @property {Ids | null} ids null: ids do not come from a sequence
 * @typedef {'is_integer' | 'is_text' | 'needs_value' | 'is_generated' | 'may_insert' | 'may_select'} ColumnFlag
 * @typedef {{ type: string, characters: number | null } & Record<ColumnFlag, boolean>} Column characters: maximum length;
 *   null: unlimited; needs_value: the column is NOT NULL and has no default
 * @typedef {{ first: string, final: string, increment: string, last: string | null, column_bits: number, may_use: boolean }} Ids
 *   the sequence; its integers, of up to 64 bits, are text; last: the id issued last; null: none yet, or we may not read it
 */

/**
 * Minimum number of ids left. An instance that stores 40,000 users/s uses up a million in 25 s, long enough for a load
 * balancer that polls every 10 s to see the failure twice. For a small sequence, the minimum is a hundredth of its ids.
 */
const ID_MARGIN = 1_000_000n
const ID_MARGIN_DIVISOR = 100n

/**
 * Decides whether a database can store users.
 * @param {Facts} facts
 * @returns {{ status: string, detail: string } | null} status: fixed text per problem; detail: what was expected; null: it can store users
 */
export function unfitness({ encoding, is_read_only, has_table, columns, ids }) {
  if (is_read_only) {
    const detail = 'expected a primary that takes writes, got a standby or default_transaction_read_only = on'
    return { status: 'the server is read-only', detail }
  }
  if (encoding !== 'UTF8') {
    const detail = `expected UTF8, got ${encoding}, which cannot represent every user; create the database with ENCODING 'UTF8'`
    return { status: 'the database encoding is not UTF8', detail }
  }
  if (!has_table) {
    const detail = 'expected a table "users" on the search_path of this role; apply sql/schema.sql'
    return { status: 'the table users is missing', detail }
  }
  const misfit = misfitOf(columns ?? {}, ids)
  if (misfit) return { status: 'the columns of users do not fit', detail: misfit }
  const { id, email, password } = /** @type {Record<string, Column>} */ (columns)
  if (!email.may_insert || !password.may_insert || !id.may_select || ids?.may_use === false) {
    const detail = 'expected INSERT on email and password, SELECT on id, and USAGE on the sequence of id'
    return { status: 'no permission to store users', detail }
  }
  const few = ids && fewIds(ids)
  return few ? { status: 'the ids run out', detail: few } : null
}

/** Describes the first unsuitable column, if any. @param {Record<string, Column>} columns @param {Ids | null} ids */
function misfitOf({ id, email, password, ...others }, ids) {
  if (!id?.is_integer) return `id: expected an integer, got ${id?.type ?? 'no such column'}`
  if (id.needs_value) return 'id: expected a sequence as its default, got none'
  for (const [name, column] of Object.entries({ email, password })) {
    if (!column?.is_text) return `${name}: expected text, got ${column?.type ?? 'no such column'}`
    if (column.is_generated) return `${name}: expected a column that takes values, got a generated one`
    if (column.characters !== null && column.characters < MAX_FIELD_CHARACTERS) {
      return `${name}: expected at least ${MAX_FIELD_CHARACTERS} characters, got ${column.type}`
    }
  }
  const needy = Object.keys(others).find((name) => others[name].needs_value)
  if (needy) return `${needy}: expected a default or NULL allowed, got NOT NULL without a default`
  // Shared statements pair rows with ids by their order (insert.js).
  const countsUp = !ids || BigInt(ids.increment) > 0n
  return countsUp ? undefined : `id: expected a sequence that counts up, got INCREMENT BY ${ids.increment}`
}

/** Describes how many ids are left, if too few: a sequence that cycles would issue ids already taken. @param {Ids} ids */
function fewIds({ column_bits, ...sequence }) {
  const [first, final, step] = [sequence.first, sequence.final, sequence.increment].map(BigInt)
  const most = 2n ** BigInt(column_bits - 1) - 1n
  const end = final < most ? final : most
  const total = (end - first) / step + 1n
  const left = sequence.last === null ? total : (end - BigInt(sequence.last)) / step
  if (left > ID_MARGIN || left > total / ID_MARGIN_DIVISOR) return undefined
  return `expected more, got ${left > 0n ? left : 0n} of ${total} left; make id a bigint and raise the MAXVALUE of its sequence`
}
