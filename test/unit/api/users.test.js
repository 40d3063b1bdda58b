import t from 'tap'
import { createRoutes } from '../../../api/routes.js'
import { createUsers, isId } from '../../../api/users.js'

t.test('passwords wait only beyond the threads that hash', async (t) => {
  for (const [hashingThreads, waiting] of [
    [1, 5],
    [4, 2],
    [16, 0],
  ]) {
    /** @type {any} */
    const parts = { pool: {}, insert: async () => '1', insertOnce: {}, hashingThreads }
    /** @type {((hash: string) => void)[]} */
    const hashes = []
    const storePassword = () => new Promise((resolve) => hashes.push(resolve))
    const users = createUsers({ ...parts, storePassword })
    const created = Array.from({ length: 6 }, () => users.create({ email: 'ada@example.com', password: 'secret' }))
    t.strictSame([users.hashing(), users.waiting()], [6, waiting], `${hashingThreads} threads`)
    for (const done of hashes) done('hash')
    await Promise.all(created)
    t.strictSame([users.hashing(), users.waiting()], [0, 0])
  }
})

t.test('what is refused without a look at the database does not count as served by it', async (t) => {
  const queries = /** @type {string[]} */ ([])
  const pool = {
    async read() {
      queries.push('read')
      return { rows: [{ id: '7' }] }
    },
  }
  const parts = { insert: async () => '1', insertOnce: async () => '1', storePassword: String, hashingThreads: 4 }
  const users = createUsers(/** @type {any} */ ({ pool, ...parts }))
  t.throws(() => users.createOnce({}, 'k'), { code: 'invalid_user' }, 'at once, as without a key')
  let served = 0
  const gate = { served: () => served++ }
  const route = createRoutes(/** @type {any} */ ({ users, gate, bodyLimitBytes: 1000 }))
  const find = (/** @type {string} */ id) =>
    route(/** @type {any} */ ({ method: 'GET', url: `/user/${id}`, headers: {}, resume() {} }))
  await t.rejects(find('abc'), { code: 'not_found' })
  t.strictSame([served, queries.length], [0, 0])
  t.equal((await find('7')).status, 200)
  t.strictSame([served, queries.length], [1, 1])
})

t.test('an id is a positive bigint, as Postgres writes it', async (t) => {
  for (const id of ['1', '42', '9223372036854775807']) t.ok(isId(id), id)
  for (const id of ['', '0', '01', '-1', '1.0', 'x', '9223372036854775808', '10000000000000000000'])
    t.notOk(isId(id), id)
})
