import { ApiError } from './errors.js'

/**
 * @import { Insert, User } from './insert.js'
 * @import { RoundTrip } from './round-trip.js'
 */

/** A statement without an answer for this long leaves room for another one: a connection that died silently never responds. */
const PATIENCE_MS = 1000

/** Weight of the newest statement in the average statement time. */
const NEWEST_WEIGHT = 0.25

/**
 * Number of stages, besides the network, that can work on different statements in parallel: this core before and after, the
 * database, its disk. In a closed loop of 1,024 connections to a distant database (35 ms, eight interleaved rounds), one statement at
 * a time reached 0.72 of the throughput of a nearby one. Values of 1, 2 and 4 reached 0.94, 0.83 and 0.94, equal within the noise.
 */
const STATIONS = 4

/** With as many rows, a statement's own cost hardly matters to each of them, and more statements in flight cost next to nothing. */
const FULL_ROWS = 128

/**
 * Replaces STATIONS for full statements. Keeping more of them in flight means that no burst of requests has to wait for the end of a
 * statement, and that the database starts on the first rows of a burst while the rest is still being read. The limit bounds the wait
 * in a database that is slower than this core: what is in flight no longer counts as waiting, and is never refused. In a closed loop of
 * 1,024 connections 10 ms from the database (eight interleaved rounds), throughput was 1.09 times that without full statements with
 * 16, and 1.11 with 64; nearby it was the same.
 */
const FULL_STATIONS = 64

/**
 * Maximum number of shared statements in flight, from 1 to `most`. Pure.
 *
 * A statement takes a network round trip plus work at both ends. While one statement is being worked on, STATIONS * round trip / work
 * others fit on the network (the bandwidth-delay product, plus one). With fewer, both ends are sometimes idle. More would only wait and
 * spread the same rows over more statements, which raises the cost per row, unless each is full anyway. Work is all time except the
 * round trip, including the wait for a busy core: an overloaded core gets fewer, larger statements.
 * @param {{ statement_ms: number, roundTrip_ms: number, most: number, isFull: boolean }} times of a statement and of an empty one
 *   (Infinity: unknown); isFull: the next one has FULL_ROWS or more
 */
export function sharedInFlight({ statement_ms, roundTrip_ms, most, isFull }) {
  if (roundTrip_ms === 0 || roundTrip_ms === Number.POSITIVE_INFINITY) return 1
  const onTheWay = ((isFull ? FULL_STATIONS : STATIONS) * roundTrip_ms) / Math.max(0, statement_ms - roundTrip_ms)
  return Math.min(most, 1 + Math.floor(onTheWay))
}

/**
 * Group commit: requests that arrive while a statement is in flight share the next one. It is sent when there is room, not on
 * a timer: an idle service stores a row at once, and a busy one stores many for little more than the cost of one. It is sent once all
 * input that has arrived is read, or, where more than one full statement may be in flight, once it is full.
 *
 * Up to `batchSlots` statements are in flight while each carries one row, so that no request waits at low load. Statements
 * with several rows are sent while fewer than `sharedInFlight` are in flight.
 * @param {{ insertOne: Insert, insertMany: (users: User[]) => Promise<string[]>, roundTrip: RoundTrip }} statements insertMany
 *   stores all or none and resolves to their ids in order
 * @param {{ batchSlots: number, batchMaxRows: number, sharedMax: number }} limits maxima: statements in flight while each carries one
 *   row, rows per statement, and shared statements in flight
 */
export function createBatcher({ insertOne, insertMany, roundTrip }, { batchSlots, batchMaxRows, sharedMax }) {
  /** @type {Waiting[]} */
  let waiting = []
  let statementsOnTheirWay = 0
  let rowsOnTheirWay = 0
  let overdue = 0
  let repeating = 0
  let isFlushing = false
  let statement_ms = 0
  let most = 1
  let mostFull = 1
  const fullRows = batchMaxRows >= FULL_ROWS ? FULL_ROWS : Number.POSITIVE_INFINITY
  // One for an overdue statement, and one for the next. Where no connection is left for that, the pool says so in time.
  const overdueSlots = Math.max(2, batchSlots)

  const isFull = () => waiting.length >= fullRows
  const slotIsFree = () =>
    statementsOnTheirWay < (isFull() ? mostFull : most) ||
    (statementsOnTheirWay < (overdue > 0 ? overdueSlots : batchSlots) && rowsOnTheirWay === statementsOnTheirWay)

  /** Flushes once all arrived input has been read: Node runs immediates before it waits for more. */
  function flushSoon() {
    if (isFlushing || waiting.length === 0 || !slotIsFree()) return
    isFlushing = true
    setImmediate(flush)
  }

  function flush() {
    isFlushing = false
    if (waiting.length > 0 && slotIsFree()) send()
  }

  function send() {
    const batch = waiting.length <= batchMaxRows ? waiting : waiting.slice(0, batchMaxRows)
    waiting = waiting.slice(batch.length)
    store(batch)
    flushSoon()
  }

  /** Changes what a statement contributes to the counts. @param {Share} share @param {number} statements @param {number} rows */
  function count(share, statements, rows) {
    share.statements += statements
    share.rows += rows
    statementsOnTheirWay += statements
    rowsOnTheirWay += rows
  }

  /** @param {Waiting[]} batch */
  async function store(batch) {
    /** @type {Share} */
    const share = { statements: 0, rows: 0, isOverdue: false }
    count(share, 1, batch.length)
    const sentAt_ms = performance.now()
    const patience = setTimeout(() => {
      // From now on it counts as one row, however many connections its rows occupy.
      count(share, 1 - share.statements, 1 - share.rows)
      share.isOverdue = true
      overdue++
      flushSoon()
    }, PATIENCE_MS)
    await (batch.length === 1 ? storeAlone(batch[0]) : storeTogether(batch, share))
    clearTimeout(patience)
    if (share.isOverdue) overdue--
    count(share, -share.statements, -share.rows)
    statement_ms += (statement_ms === 0 ? 1 : NEWEST_WEIGHT) * (performance.now() - sentAt_ms - statement_ms)
    roundTrip.sample()
    const times = { statement_ms, roundTrip_ms: roundTrip.shortest_ms(), most: sharedMax }
    most = sharedInFlight({ ...times, isFull: false })
    mostFull = sharedInFlight({ ...times, isFull: true })
    flushSoon()
  }

  /** @param {Waiting} row @returns {Promise<unknown>} the error, if it failed */
  const storeAlone = ({ user, resolve, reject }) =>
    insertOne(user).then(resolve, (error) => {
      reject(error)
      return error
    })

  /** @param {Waiting[]} batch @param {Share} share */
  async function storeTogether(batch, share) {
    try {
      const ids = await insertMany(batch.map(({ user }) => user))
      batch.forEach(({ resolve }, i) => void resolve(ids[i]))
    } catch (error) {
      // One bad row must not fail its neighbours. After any other error, a second attempt would fail too, or store a row twice.
      if (isAboutRow(error)) await storeEach(batch, share)
      else for (const { reject } of batch) reject(error)
    }
  }

  /**
   * Stores rows one by one, on the connection of their failed statement and on those that shared statements leave free: reads need one,
   * too. After a failure that is not about a row, the rest is refused without an attempt, which would only fail later.
   * @param {Waiting[]} batch @param {Share} share
   */
  async function storeEach(batch, share) {
    const rows = batch.values()
    let unsent = batch.length
    let workers = 1
    /** @type {unknown} */
    let failure
    /** @type {Promise<void>[]} */
    const others = []
    repeating += unsent
    const hire = () => {
      while (unsent > 0 && !failure && !share.isOverdue && statementsOnTheirWay < sharedMax) {
        workers++
        count(share, 1, 1)
        others.push(work())
      }
    }
    const work = async () => {
      for (const row of rows) {
        unsent--
        repeating--
        if (failure) {
          row.reject(failure)
          continue
        }
        const error = await storeAlone(row)
        if (error && !isAboutRow(error)) failure ??= ofUnsent(error)
        hire()
      }
      // The last one has the place of the statement.
      if (--workers === 0) return
      if (!share.isOverdue) count(share, -1, -1)
      flushSoon()
    }
    const first = work()
    hire()
    await first
    await Promise.all(others)
  }

  /** @type {Insert} */
  const insert = (user) =>
    new Promise((resolve, reject) => {
      waiting.push({ user, resolve, reject })
      if (mostFull > 1 && isFull() && slotIsFree()) send()
      else flushSoon()
    })
  return Object.assign(insert, { waiting: () => waiting.length + repeating })
}

/** @type {Set<string>} */
const ABOUT_A_ROW = new Set(['row_refused', 'user_exists'])

const isAboutRow = (/** @type {unknown} */ error) => error instanceof ApiError && ABOUT_A_ROW.has(error.code)

/** The error of rows that were never sent, so that their outcome is known. @param {unknown} error of another row */
const ofUnsent = (error) =>
  error instanceof ApiError && error.code === 'outcome_unknown'
    ? new ApiError('database_unavailable', undefined, { cause: error.cause })
    : error

/** @typedef {{ statements: number, rows: number, isOverdue: boolean }} Share what a statement contributes to the counts */

/** @typedef {{ user: User, resolve: (id: string) => void, reject: (error: unknown) => void }} Waiting */
