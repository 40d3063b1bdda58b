import { RowRefused } from './errors.js'

/**
 * @import { Insert, User } from './insert.js'
 * @import { RoundTrip } from './round-trip.js'
 */

/** How long a shared statement may hold up the next one: on a connection that died silently it gets no response. */
const PATIENCE_MS = 1000

/** Weight of the newest statement in the time that statements take. */
const NEWEST_WEIGHT = 0.25

/**
 * Stations that a statement passes besides the way, and that can work on different ones at the same time: this core before and after,
 * the database, its disk. In a closed loop of 1,024 connections with a long way (35 ms, eight interleaved rounds) one statement at a
 * time had 0.72 of the throughput nearby; 1, 2 and 4 here had 0.94, 0.83 and 0.94, which the noise of that machine does not tell apart.
 */
const STATIONS = 4

/**
 * How many shared statements may be in flight. Pure.
 *
 * A statement takes a round trip, during which nobody works on it, and the work at both ends. At the pace at which the stations work,
 * STATIONS * round trip / work statements fit on the way while one is being worked on (the bandwidth-delay product, plus one). With
 * fewer, both ends are idle at times. More would only wait, and divide the same rows among more statements, so that each row costs more.
 *
 * Work is whatever is not the round trip, including the wait for a busy core. So a core that has too much to do gets fewer and larger
 * statements, and near the database, where the way is short compared with the work, there is one.
 *
 * @param {{ statement_ms: number, roundTrip_ms: number, most: number }} times of a statement, and of one that asks nothing; Infinity:
 *   not known
 * @returns {number} 1 to `most`
 */
export function sharedInFlight({ statement_ms, roundTrip_ms, most }) {
  if (roundTrip_ms === 0 || roundTrip_ms === Number.POSITIVE_INFINITY) return 1
  const onTheWay = (STATIONS * roundTrip_ms) / Math.max(0, statement_ms - roundTrip_ms)
  return Math.min(most, 1 + Math.floor(onTheWay))
}

/**
 * Group commit: requests that come while a statement is in flight share the next one. It leaves when there is room, not on a
 * timer: an idle service stores a row at once, a busy one stores many for little more than the price of one.
 *
 * Up to `batchSlots` statements are in flight at once while each carries one row, since with few requests none should wait.
 * Statements of several rows leave as long as fewer than `sharedInFlight` are on their way.
 *
 * @param {object} statements
 * @param {Insert} statements.insertOne
 * @param {(users: User[]) => Promise<string[]>} statements.insertMany all of them or none; their ids, in their order
 * @param {RoundTrip} statements.roundTrip
 * @param {{ batchSlots: number, batchMaxRows: number, sharedMax: number }} limits statements in flight while each has one row, rows in
 *   a statement, and statements in flight in any case
 * @returns {Insert & { waiting: () => number }}
 */
export function createBatcher({ insertOne, insertMany, roundTrip }, { batchSlots, batchMaxRows, sharedMax }) {
  /** @type {Waiting[]} */
  let waiting = []
  let statementsOnTheirWay = 0
  let rowsOnTheirWay = 0
  let isFlushing = false
  let statement_ms = 0
  let most = 1

  const slotIsFree = () => {
    return statementsOnTheirWay < most || (statementsOnTheirWay < batchSlots && rowsOnTheirWay === statementsOnTheirWay)
  }

  /** Once all that has arrived has been read: Node runs an immediate before it waits for more. */
  function flushSoon() {
    if (isFlushing || waiting.length === 0 || !slotIsFree()) return
    isFlushing = true
    setImmediate(flush)
  }

  function flush() {
    isFlushing = false
    const batch = waiting.length <= batchMaxRows ? waiting : waiting.slice(0, batchMaxRows)
    waiting = waiting.slice(batch.length)
    store(batch)
    flushSoon()
  }

  /** @param {Waiting[]} batch */
  async function store(batch) {
    let rows = batch.length
    statementsOnTheirWay++
    rowsOnTheirWay += rows
    const sentAt_ms = performance.now()
    // A statement without an answer must not hold up the next ones for long: from then on it counts as not shared.
    const patience = setTimeout(() => {
      rowsOnTheirWay -= rows - 1
      rows = 1
      flushSoon()
    }, PATIENCE_MS)
    await (batch.length === 1 ? storeAlone(batch[0]) : storeTogether(batch))
    clearTimeout(patience)
    statementsOnTheirWay--
    rowsOnTheirWay -= rows
    learn(performance.now() - sentAt_ms)
    flushSoon()
  }

  /** @param {number} took_ms */
  function learn(took_ms) {
    statement_ms += (statement_ms === 0 ? 1 : NEWEST_WEIGHT) * (took_ms - statement_ms)
    roundTrip.sample()
    most = sharedInFlight({ statement_ms, roundTrip_ms: roundTrip.shortest_ms(), most: sharedMax })
  }

  const storeAlone = (/** @type {Waiting} */ { user, resolve, reject }) => insertOne(user).then(resolve, reject)

  /** @param {Waiting[]} batch */
  async function storeTogether(batch) {
    try {
      const ids = await insertMany(batch.map(({ user }) => user))
      batch.forEach(({ resolve }, i) => void resolve(ids[i]))
    } catch (error) {
      // One bad row must not fail its neighbours. Any other error fails each of them alike, or leaves their outcome open:
      // a second attempt would be of no use, or store a row twice.
      if (error instanceof RowRefused) await Promise.all(batch.map(storeAlone))
      else for (const { reject } of batch) reject(error)
    }
  }

  /** @type {Insert} */
  const insert = (user) =>
    new Promise((resolve, reject) => {
      waiting.push({ user, resolve, reject })
      flushSoon()
    })
  return Object.assign(insert, { waiting: () => waiting.length })
}

/** @typedef {{ user: User, resolve: (id: string) => void, reject: (error: unknown) => void }} Waiting */
