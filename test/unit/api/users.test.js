import t from 'tap'
import { createUsers } from '../../../api/users.js'

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
