import { mock } from 'node:test'
import t from 'tap'
import { RowRefused } from '../../../api/errors.js'
import { createBatcher } from '../../../api/insert.js'

const user = { email: 'ada@example.com', password: 'secret' }

/** Statements that are answered when the test says so, in the order in which they left. @param {number} batchSlots */
function heldBatcher(batchSlots) {
  /** @type {{ rows: number, answer: (result: any) => void, fail: (error: Error) => void }[]} */
  const statements = []
  let lastId = 0
  const held = (/** @type {number} */ rows) => new Promise((answer, fail) => statements.push({ rows, answer, fail }))
  const insert = createBatcher(
    {
      insertOne: async () => (await held(1)) ?? String(++lastId),
      insertMany: async (users) => (await held(users.length)) ?? users.map(() => String(++lastId)),
    },
    { batchSlots, batchMaxRows: 10 },
  )
  return {
    statements,
    insertMany: (/** @type {number} */ n) => Array.from({ length: n }, () => insert(user)),
  }
}

/** Long enough for an answer to be taken in, and for the next statement to leave. */
async function turn() {
  for (let i = 0; i < 3; i++) await new Promise(setImmediate)
}

t.test('one by one, rows take a slot each; once they share a statement, it goes alone', async (t) => {
  const { statements, insertMany } = heldBatcher(3)
  const rowsSent = () => statements.map(({ rows }) => rows)
  const inserts = []
  for (let i = 0; i < 4; i++) {
    inserts.push(...insertMany(1))
    await turn()
  }
  t.strictSame(rowsSent(), [1, 1, 1], 'a slot each, and the fourth waits')
  inserts.push(...insertMany(4))
  await turn()
  statements[0].answer(undefined)
  await turn()
  t.strictSame(rowsSent(), [1, 1, 1, 5], 'those that have waited go together')
  inserts.push(...insertMany(25))
  statements[1].answer(undefined)
  statements[2].answer(undefined)
  await turn()
  t.strictSame(rowsSent(), [1, 1, 1, 5], 'and nothing goes beside them')
  for (let sent = 3; sent < statements.length; sent++) {
    statements[sent].answer(undefined)
    await turn()
  }
  t.strictSame(rowsSent(), [1, 1, 1, 5, 10, 10, 5], 'at most ten at once')
  t.equal(new Set(await Promise.all(inserts)).size, 33, 'each has an id of its own')
})

t.test('a statement that gets no answer holds up nobody for more than a second', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { statements, insertMany } = heldBatcher(2)
  const lost = insertMany(3)
  await turn()
  const next = insertMany(2)
  await turn()
  mock.timers.tick(999)
  await turn()
  t.equal(statements.length, 1, 'it goes alone')
  mock.timers.tick(1)
  await turn()
  t.equal(statements.length, 2, 'after a second the next one leaves')
  statements[1].answer(undefined)
  t.strictSame(await Promise.all(next), ['1', '2'])
  statements[0].answer(undefined)
  t.strictSame(await Promise.all(lost), ['3', '4', '5'])
  const after = insertMany(2)
  await turn()
  statements[2].answer(undefined)
  t.strictSame(await Promise.all(after), ['6', '7'], 'and the counts are right again')
})

t.test('when a row is refused, each is tried alone; after any other error none is tried again', async (t) => {
  const { statements, insertMany } = heldBatcher(1)
  const refused = insertMany(3).map((row) => row.catch((error) => error.cause.message))
  await turn()
  statements[0].fail(new RowRefused(new Error('one of them')))
  await turn()
  t.equal(statements.length, 4)
  statements[1].answer(undefined)
  statements[2].fail(new RowRefused(new Error('this one')))
  statements[3].answer(undefined)
  t.strictSame(await Promise.all(refused), ['1', 'this one', '2'])

  const lost = insertMany(3).map((row) => row.catch((error) => error.message))
  await turn()
  statements[4].fail(new Error('nobody knows'))
  t.strictSame(await Promise.all(lost), ['nobody knows', 'nobody knows', 'nobody knows'])
  t.equal(statements.length, 5)
  const next = insertMany(1)
  await turn()
  statements[5].answer(undefined)
  t.strictSame(await Promise.all(next), ['3'], 'and the slot is free again')
})
