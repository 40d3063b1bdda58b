import t from 'tap'
import { ApiError } from '../../../api/errors.js'
import { createInsertOnce } from '../../../api/idempotency.js'
import { simulated } from '../../support/simulation/simulated.js'

const MINUTE_MS = 60_000
const TTL_MS = 3_600_000
const ADA = { email: 'ada@simulated', password: 'secret' }

/** Words that tell the statements with keys apart. */
const NAMES = { claimed: 'store', 'LEFT JOIN': 'find', DELETE: 'delete' }

/** @param {any} t */
async function start(t) {
  const simulation = simulated(t, { settings: { insertMode: 'prepared', poolMax: 1, idempotencyKeyTtlMs: TTL_MS } })
  const { clock, postgres, service } = simulation
  const statements = () =>
    postgres.units.map(({ text }) => Object.entries(NAMES).find(([part]) => text.includes(part))?.[1])
  /** @param {string} key @param {() => void} [onFind] called once the key was found to be taken, before its row is looked for */
  async function post(key, onFind) {
    const { answers } = service.request('POST', '/user', { body: ADA, key })
    const finds = () => statements().filter((name) => name === 'find').length
    if (onFind) {
      const seen = finds()
      await simulation.until('a look for its row', () => finds() > seen)
      onFind()
    }
    await simulation.until('an answer', () => answers.length > 0)
    // What is sent after the answer, such as the look for expired keys.
    await clock.run(() => false, 100)
    return answers[0]
  }
  return { ...simulation, statements, post }
}

t.test('a key that expires between two statements is free: the user is stored, once', async (t) => {
  const { postgres, post, statements } = await start(t)
  const { tables } = postgres
  tables.keys.set('k', { id: '77', created_ms: 0 })
  const answer = await post('k', () => tables.keys.delete('k'))
  t.equal(answer.status, 201)
  t.strictSame(statements(), ['store', 'find', 'store', 'delete'])
  t.strictSame(tables.users, [{ id: answer.id, ...ADA }])
  t.equal(tables.keys.get('k')?.id, answer.id, 'and the key is its')
})

t.test('a key that is taken gives the earlier row, and nothing is stored', async (t) => {
  const { postgres, post, statements } = await start(t)
  const first = await post('k')
  const repeat = await post('k')
  t.strictSame([first.status, repeat.status], [201, 201])
  t.equal(repeat.id, first.id)
  t.equal(postgres.tables.users.length, 1)
  t.strictSame(statements(), ['store', 'delete', 'store', 'find'])
})

t.test('where the earlier row cannot be read, the outcome is unknown, whatever the reason', async (t) => {
  for (const code of /** @type {const} */ (['database_unavailable', 'database_refused', 'no_database_slot'])) {
    const pool = /** @type {any} */ ({
      query: async () => ({ rows: [] }),
      read: async () => Promise.reject(new ApiError(code)),
    })
    const insertOnce = createInsertOnce(pool, { idempotencyKeyTtlMs: TTL_MS })
    await t.rejects(
      insertOnce('k', ADA, async () => true),
      { code: 'outcome_unknown', cause: { code } },
    )
  }
})

t.test('a user whom a trigger suppresses is refused after a second attempt', async (t) => {
  const { service, statements, until } = await start(t)
  const { answers } = service.request('POST', '/user', { body: { ...ADA, email: 'vanish@simulated' }, key: 'k' })
  await until('an answer', () => answers.length > 0)
  t.equal(answers[0].code, 'row_refused')
  t.strictSame(statements(), ['store', 'find', 'store', 'find'])
})

t.test('expired keys are looked for once a minute, and at once while there are more', async (t) => {
  const { clock, postgres, post, statements } = await start(t)
  const { keys } = postgres.tables
  const deletes = () => statements().filter((name) => name === 'delete').length
  await post('a')
  t.equal(deletes(), 1, 'by the first key')
  await clock.run(() => false, MINUTE_MS - 1000)
  await post('b')
  t.equal(deletes(), 1, 'too early')
  await clock.run(() => false, 1000)
  for (let i = 0; i < 1500; i++) keys.set(`old-${i}`, { id: '1', created_ms: -TTL_MS })
  await post('c')
  t.equal(deletes(), 2)
  t.equal(keys.size, 500 + 3, 'a thousand at a time')
  await post('d')
  t.equal(deletes(), 3, 'there may be more')
  t.equal(keys.size, 4)
  await post('e')
  t.equal(deletes(), 3, 'there were none')
})

t.test('a look for expired keys that fails changes no answer, and is repeated after a minute', async (t) => {
  const { clock, plan, post, statements } = await start(t)
  plan.statements[1] = { fault: 'privilege', execute_ms: 1, commit_ms: 1, split: 0 }
  t.equal((await post('a')).status, 201)
  t.equal((await post('b')).status, 201)
  t.strictSame(statements(), ['store', 'delete', 'store'])
  await clock.run(() => false, MINUTE_MS)
  t.equal((await post('c')).status, 201)
  t.strictSame(statements(), ['store', 'delete', 'store', 'store', 'delete'])
})
