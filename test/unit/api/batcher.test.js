import { mock } from 'node:test'
import t from 'tap'
import { createBatcher, sharedInFlight } from '../../../api/batcher.js'
import { ApiError } from '../../../api/errors.js'
import { installClock } from '../../support/simulation/clock.js'

const user = { email: 'ada@example.com', password: 'secret' }

/**
 * Statements that are answered when the test says so, in the order in which they left.
 * @param {number} batchSlots @param {{ roundTrip_ms?: number, batchMaxRows?: number, sharedMax?: number }} [way] to the
 *   database; by default of unknown length
 */
function heldBatcher(batchSlots, { roundTrip_ms = Number.POSITIVE_INFINITY, batchMaxRows = 10, sharedMax = 4 } = {}) {
  const roundTrip = { sample() {}, shortest_ms: () => roundTrip_ms }
  /** @type {{ rows: number, answer: (result: any) => void, fail: (error: Error) => void }[]} */
  const statements = []
  let lastId = 0
  const held = (/** @type {number} */ rows) => new Promise((answer, fail) => statements.push({ rows, answer, fail }))
  const insert = createBatcher(
    {
      insertOne: async () => (await held(1)) ?? String(++lastId),
      insertMany: async (users) => (await held(users.length)) ?? users.map(() => String(++lastId)),
      roundTrip,
    },
    { batchSlots, batchMaxRows, sharedMax },
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

t.test('far from the database a full statement leaves at once, and beside others', async (t) => {
  const { statements, insertMany } = heldBatcher(1, { roundTrip_ms: 10, batchMaxRows: 500 })
  const rowsSent = () => statements.map(({ rows }) => rows)
  const inserts = insertMany(1)
  await turn()
  statements[0].answer(undefined)
  await turn()
  inserts.push(...insertMany(300))
  t.strictSame(rowsSent(), [1, 128, 128], 'before the rest of what has arrived is read')
  await turn()
  t.strictSame(rowsSent(), [1, 128, 128, 44], 'the rest leaves after that')
  inserts.push(...insertMany(127))
  await turn()
  t.strictSame(rowsSent(), [1, 128, 128, 44, 127])
  inserts.push(...insertMany(600))
  await turn()
  t.equal(statements.length, 5, 'there is a limit')
  statements[1].answer(undefined)
  await turn()
  t.strictSame(rowsSent(), [1, 128, 128, 44, 127, 500], 'those that had to wait go together')
  for (let sent = 2; sent < 7; sent++) {
    statements[sent].answer(undefined)
    await turn()
  }
  t.equal(new Set(await Promise.all(inserts)).size, 1028, 'each has an id of its own')
})

t.test(
  'near the database, or as long as its distance is unknown, nothing leaves before all has been read',
  async (t) => {
    for (const roundTrip_ms of [0, Number.POSITIVE_INFINITY]) {
      const { statements, insertMany } = heldBatcher(1, { roundTrip_ms, batchMaxRows: 500 })
      const inserts = insertMany(1)
      await turn()
      statements[0].answer(undefined)
      await turn()
      inserts.push(...insertMany(300))
      t.equal(statements.length, 1, `${roundTrip_ms} ms`)
      await turn()
      t.equal(statements[1].rows, 300)
      statements[1].answer(undefined)
      await Promise.all(inserts)
    }
  },
)

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

t.test('with one slot, too, a statement that gets no answer leaves room for another one', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { statements, insertMany } = heldBatcher(1)
  const lost = insertMany(3)
  await turn()
  const next = insertMany(2)
  mock.timers.tick(999)
  await turn()
  t.equal(statements.length, 1)
  mock.timers.tick(1)
  await turn()
  t.equal(statements.length, 2, 'after a second')
  statements[1].answer(undefined)
  t.strictSame(await Promise.all(next), ['1', '2'])
  statements[0].answer(undefined)
  t.strictSame(await Promise.all(lost), ['3', '4', '5'])
  const after = insertMany(1)
  await turn()
  after.push(...insertMany(1))
  await turn()
  t.equal(statements.length, 3, 'and then there is one slot again')
  statements[2].answer(undefined)
  await turn()
  statements[3].answer(undefined)
  t.strictSame(await Promise.all(after), ['6', '7'])
})

t.test('refused rows are tried on no more connections than shared statements may use', async (t) => {
  const { statements, insertMany } = heldBatcher(1, { sharedMax: 2 })
  const rows = insertMany(5)
  await turn()
  statements[0].fail(new ApiError('row_refused'))
  for (let answered = 1; answered <= 5; answered++) {
    await turn()
    t.equal(statements.length, Math.min(6, answered + 2), `${answered - 1} rows are tried`)
    statements[answered].answer(undefined)
  }
  t.strictSame(await Promise.all(rows), ['1', '2', '3', '4', '5'])
})

t.test('a row that gets no answer as refused rows are tried leaves room for another statement', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { statements, insertMany } = heldBatcher(1)
  const rows = insertMany(4)
  await turn()
  statements[0].fail(new ApiError('row_refused'))
  await turn()
  t.equal(statements.length, 5)
  for (const sent of [1, 2, 3]) statements[sent].answer(undefined)
  const next = insertMany(2)
  mock.timers.tick(1000)
  await turn()
  t.equal(statements.length, 6)
  statements[5].answer(undefined)
  t.strictSame(await Promise.all(next), ['4', '5'])
  statements[4].answer(undefined)
  t.strictSame(await Promise.all(rows), ['1', '2', '3', '6'])
})

t.test('refused rows without an answer leave room for others, however many connections they occupy', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  const { statements, insertMany } = heldBatcher(1)
  const rows = insertMany(4)
  await turn()
  statements[0].fail(new ApiError('row_refused'))
  await turn()
  t.equal(statements.length, 5)
  const next = insertMany(2)
  mock.timers.tick(1000)
  await turn()
  t.equal(statements.length, 6)
  for (const sent of [5, 1, 2, 3, 4]) statements[sent].answer(undefined)
  t.strictSame(await Promise.all([...next, ...rows]), ['1', '2', '3', '4', '5', '6'])
})

t.test('once the database fails, refused rows that were not sent yet are not tried', async (t) => {
  const { statements, insertMany } = heldBatcher(1, { sharedMax: 2 })
  const rows = Promise.allSettled(insertMany(5))
  await turn()
  statements[0].fail(new ApiError('row_refused'))
  await turn()
  statements[1].fail(new ApiError('outcome_unknown'))
  await turn()
  statements[2].answer(undefined)
  const ends = (await rows).map((row) => (row.status === 'fulfilled' ? row.value : row.reason.code))
  t.strictSame(ends, ['outcome_unknown', '1', ...Array(3).fill('database_unavailable')])
  t.equal(statements.length, 3)
})

t.test('refused rows take the connections that others give back', async (t) => {
  const { statements, insertMany } = heldBatcher(1, { roundTrip_ms: 35, sharedMax: 3 })
  const rows = insertMany(1)
  await turn()
  statements[0].answer(undefined)
  await turn()
  for (const number of [3, 4]) {
    rows.push(...insertMany(number))
    await turn()
  }
  for (const refused of [1, 2]) {
    statements[refused].fail(new ApiError('row_refused'))
    await turn()
  }
  t.equal(statements.length, 6, 'two of the first three rows, and one of the others')
  for (const sent of [3, 4]) statements[sent].answer(undefined)
  await turn()
  statements[5].answer(undefined)
  await turn()
  t.equal(statements.length, 9, 'one of the first three rows, and two of the others')
  for (let sent = 6; sent < statements.length; sent++) {
    statements[sent].answer(undefined)
    await turn()
  }
  t.equal((await Promise.all(rows)).length, 8)
})

t.test('when a row is refused, each is tried alone; after any other error none is tried again', async (t) => {
  const { statements, insertMany } = heldBatcher(1)
  const refused = insertMany(3).map((row) => row.catch((error) => error.message))
  await turn()
  statements[0].fail(new ApiError('row_refused'))
  await turn()
  t.equal(statements.length, 4)
  statements[1].answer(undefined)
  statements[2].fail(new ApiError('row_refused', 'this one'))
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

t.test('as many shared statements are in flight as fit on the way', async (t) => {
  const most = 19
  const rows =
    /** @type {[about: string, roundTrip_ms: number, statement_ms: number, few: number, full: number][]} */ ([
      ['nothing is known of the way', Number.POSITIVE_INFINITY, 12, 1, 1],
      ['there is no way at all', 0, 0, 1, 1],
      ['the same machine, few rows each', 0.1, 0.6, 1, 13],
      ['the same machine, busy', 0.2, 15, 1, 1],
      ['the same machine, and the database has more than it can do', 0.2, 250, 1, 1],
      ['the same zone, busy', 0.5, 5, 1, 8],
      ['the same zone, few rows each', 0.5, 1.5, 3, most],
      ['another zone, busy', 2, 8, 2, most],
      ['another region, busy', 10, 22, 4, most],
      ['another region, and the core has more than it can do', 10, 60, 1, 13],
      ['another region, and the database has more than it can do', 10, 800, 1, 1],
      ['another region, one row now and then', 10, 10.5, most, most],
      ['the shortest round trip was longer than this statement', 10, 9, most, most],
    ])
  for (const [about, roundTrip_ms, statement_ms, few, full] of rows) {
    t.equal(sharedInFlight({ statement_ms, roundTrip_ms, most, isFull: false }), few, about)
    t.equal(sharedInFlight({ statement_ms, roundTrip_ms, most, isFull: true }), full, `${about}, full statements`)
  }
  t.equal(sharedInFlight({ statement_ms: 10, roundTrip_ms: 10, most: 1, isFull: true }), 1, 'with one connection, one')
})

/** What takes how long, ten times slower than on the machine where it was measured: the clock's shortest wait is 1 ms. */
const SLOWER = 10
const READ_MS = 0.012 * SLOWER
const ANSWER_MS = 0.012 * SLOWER
const CLIENT_MS = 0.008 * SLOWER
const STATEMENT_MS = 0.5 * SLOWER
const ROW_MS = 0.009 * SLOWER

/**
 * Rows per second of a closed loop of 1,024 connections. The core of the service does one thing at a time, and so does that of the
 * database and the clients.
 * @param {number} roundTrip_ms
 */
async function closedLoop(roundTrip_ms) {
  const clock = installClock()
  let free_ms = 0
  const otherCore = (/** @type {number} */ work_ms) => {
    free_ms = Math.max(free_ms, clock.now_ms) + work_ms
    return clock.sleep(free_ms - clock.now_ms)
  }
  let lastId = 0
  const insertMany = async (/** @type {object[]} */ users) => {
    await clock.sleep(roundTrip_ms / 2)
    await otherCore(STATEMENT_MS + ROW_MS * users.length)
    await clock.sleep(roundTrip_ms / 2)
    return users.map(() => String(++lastId))
  }
  const insertOne = async (/** @type {object} */ user) => (await insertMany([user]))[0]
  const roundTrip = { sample() {}, shortest_ms: () => roundTrip_ms }
  const limits = { batchSlots: 4, batchMaxRows: 500, sharedMax: 19 }
  const insert = createBatcher({ insertOne, insertMany, roundTrip }, limits)
  let stored = 0
  const client = async () => {
    for (;;) {
      await otherCore(CLIENT_MS)
      clock.stall(READ_MS)
      await insert(user)
      clock.stall(ANSWER_MS)
      stored++
    }
  }
  for (let i = 0; i < 1024; i++) void client()
  await clock.run(() => false, 1000)
  const before = stored
  await clock.run(() => false, 2000)
  clock.uninstall()
  return (stored - before) / 2
}

t.test('a closed loop of 1,024 stores as much far from its database as nearby', async (t) => {
  const [near_rps, same_zone_rps, far_rps] = [await closedLoop(1.5), await closedLoop(5), await closedLoop(100)]
  t.ok(same_zone_rps >= 0.95 * near_rps, `${same_zone_rps} of ${near_rps} rows/s`)
  t.ok(far_rps >= near_rps, `${far_rps} of ${near_rps} rows/s`)
})
