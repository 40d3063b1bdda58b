import t from 'tap'
import { idOf, insertModes, textArray } from '../../../api/insert.js'

const USER = { email: 'a@b.de', password: 'pässword' }
const INSERT = 'INSERT INTO users (email, password) VALUES ($1, $2) RETURNING id::text'
const CONFIG = /** @type {any} */ ({ batchSlots: 1, batchMaxRows: 10 })

/** A pool that keeps what it is sent, and answers with these rows. @param {...any[]} answers */
function poolOf(...answers) {
  /** @type {any[]} */
  const sent = []
  const send = (/** @type {string} */ way) => async (/** @type {any} */ statement) => {
    sent.push({ way, ...statement })
    return { rows: answers[sent.length - 1] }
  }
  return { sent, pool: /** @type {any} */ ({ query: send('query'), pipe: send('pipe'), roundTrip: async () => 1 }) }
}

/** @param {Buffer} bytes of a text[] @returns {string[]} */
function textsIn(bytes) {
  const texts = []
  for (let at = 20; at < bytes.length; at += 4 + bytes.readInt32BE(at)) {
    texts.push(bytes.toString('utf8', at + 4, at + 4 + bytes.readInt32BE(at)))
  }
  return texts
}

t.test('each mode but the batched one sends a statement of its own for each user', async (t) => {
  const values = [USER.email, USER.password]
  /** @type {[string, object][]} */
  const rows = [
    ['single', { way: 'query', text: INSERT, values }],
    ['prepared', { way: 'query', name: 'insert_user', text: INSERT, values }],
    ['pipelined', { way: 'pipe', name: 'insert_user', text: INSERT, values }],
    ['batched', { way: 'query', name: 'insert_user', text: INSERT, values }],
  ]
  for (const [mode, statement] of rows) {
    const { pool, sent } = poolOf([{ id: '7' }])
    t.equal(await insertModes[mode](pool, CONFIG)(USER), '7', mode)
    t.strictSame(sent, [statement], mode)
  }
})

t.test('batched: users that come together share a statement, and get the ids in their order', async (t) => {
  const { pool, sent } = poolOf([{ ids: '7,8,9' }])
  const insert = insertModes.batched(pool, CONFIG)
  const users = ['a', 'b', 'c'].map((name) => ({ email: `${name}@b.de`, password: `${name}ß` }))
  t.strictSame(await Promise.all(users.map(insert)), ['7', '8', '9'])
  const [{ way, name, text, values }] = sent
  t.strictSame([sent.length, way, name], [1, 'query', 'insert_users'])
  t.match(
    text,
    /INSERT INTO users \(email, password\)\s+SELECT email, password FROM unnest\(\$1::text\[\], \$2::text\[\]\) WITH ORDINALITY .* ORDER BY place\s+RETURNING id\s/,
  )
  t.match(text, /string_agg\(id::text, ',' ORDER BY id\) AS ids FROM stored$/)
  t.strictSame(values.map(textsIn), [
    ['a@b.de', 'b@b.de', 'c@b.de'],
    ['aß', 'bß', 'cß'],
  ])
})

t.test('batched: where ids are missing, none of the outcomes is known', async (t) => {
  for (const [ids, got] of /** @type {[string | null, number][]} */ ([
    ['7', 1],
    [null, 0],
  ])) {
    const insert = insertModes.batched(poolOf([{ ids }]).pool, CONFIG)
    const outcomes = await Promise.allSettled([insert(USER), insert(USER)])
    t.equal(outcomes.length, 2)
    for (const outcome of outcomes) {
      t.match(outcome, {
        status: 'rejected',
        reason: { code: 'outcome_unknown', cause: { message: `expected 2 ids of as many rows, got ${got}` } },
      })
    }
  }
})

t.test('a statement that succeeds and stores nothing was refused', async (t) => {
  t.throws(() => idOf(/** @type {any} */ ({ rows: [] })), { code: 'row_refused' })
  t.equal(idOf(/** @type {any} */ ({ rows: [{ id: '7' }] })), '7')
})

t.test('textArray is an array of texts in the binary format of Postgres', async (t) => {
  const header = (/** @type {number} */ size) => [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, size, 0, 0, 0, 1]
  t.strictSame([...textArray(['a', '', 'ß'])], [...header(3), 0, 0, 0, 1, 97, 0, 0, 0, 0, 0, 0, 0, 2, 0xc3, 0x9f])
  t.strictSame([...textArray([])], header(0), 'of none')
})
