import { openPool, silenceOf } from './connections.js'
import { ApiError } from './errors.js'
import { createCauseLog } from './log.js'
import { outcomeOf } from './outcome.js'
import { createPipeline, RETRY_MS } from './pipeline.js'

/**
 * @import { Config } from './config.js'
 * @import { Client, ClientPool, Result, Statement } from './connections.js'
 * @import { Duplex } from 'node:stream'
 * @import { Logger } from 'pino'
 */

/** SQLSTATEs: the server is read-only; the session lacks a prepared statement. */
const READ_ONLY = '25006'
const UNPREPARED = '26000'

/** pg's message for a statement without a timely response, and pg-pool's if no connection became free in time. */
const SILENT = 'Query read timeout'
const QUEUE_TIMEOUT = 'timeout exceeded when trying to connect'

const NOTHING = { name: 'nothing', text: 'SELECT' }

/** Connections work again if none has failed for this long. */
const CALM_MS = 1000

/** Minimum interval between replacements of all sessions: a server that stays read-only must not be flooded with logins. */
const REPLACE_INTERVAL_MS = 1000

/**
 * A pool whose errors are ApiErrors. It logs when connections begin to fail and when they work again, and each other cause once a
 * minute, however many requests are affected.
 * @param {Config} config
 * @param {{ log: Logger, observe?: (seconds: number) => void, stream?: () => Duplex }} options observe: receives each statement's
 *   duration; stream: creates the transport in place of a socket
 */
export function createPool(config, { log, observe = () => {}, stream }) {
  const maxLifetimeSeconds = config.poolMaxLifetimeMs / 1000
  const pool = openPool(config, log, { stream, max: config.poolMax, maxLifetimeSeconds })
  // pg's query_timeout would include the time queued behind other statements, so the pipeline has its own watchdog.
  const shared = openPool(config, log, { stream, max: config.pipelineConnections, pipeline: true, query_timeout: 0 })
  const advice = 'the database refuses a statement: check schema (sql/schema.sql), privileges and sequence'
  const logRefusal = createCauseLog(log, advice)
  const logFailure = createCauseLog(log, 'the database failed a statement that may be repeated: answering 503')
  const logLogin = createCauseLog(log, 'a login to the database fails, but other connections serve')
  /** @type {WeakMap<object, { cause: unknown, at_ms: number }>} the last refusal on each connection */
  const refusals = new WeakMap()
  let isFailing = false
  let failed_ms = Number.NEGATIVE_INFINITY
  let served_ms = Number.NEGATIVE_INFINITY

  /** Established sessions: totalCount would include logins under way. @type {Set<Client>} */
  const sessions = new Set()
  let loginsAt_ms = Number.NEGATIVE_INFINITY
  pool.on('connect', (client) => {
    sessions.add(/** @type {Client} */ (client))
    pool.options.max = config.poolMax
  })
  pool.on('remove', (client) => void sessions.delete(/** @type {Client} */ (client)))
  // Needed only after a failed login. A session that is being closed serves nothing.
  const open = () => [...sessions].filter(({ isEnding }) => !isEnding).length

  let generation = 0
  let replaced_ms = Number.NEGATIVE_INFINITY
  /** Whether a session may be connected to a former primary, since its login began before all were replaced. */
  const isOutdated = (/** @type {Client} */ client) => client.begun_ms < replaced_ms

  /** Replaces every session: at once in the pipeline; in the pool, when each is next acquired or released. */
  function replaceSessions() {
    if (performance.now() - replaced_ms < REPLACE_INTERVAL_MS) return
    replaced_ms = performance.now()
    generation++
    pipeline.retire()
  }

  /** @param {unknown} error of a login, or of a session that has ended */
  function lost(error) {
    if (!isFailing) log.warn({ err: error }, 'database connections fail: answering 503 to the requests affected')
    isFailing = true
    failed_ms = performance.now()
    return unavailable(error)
  }

  function served() {
    served_ms = performance.now()
    // Some connections may serve while others fail.
    if (!isFailing || served_ms - failed_ms < CALM_MS) return
    log.info('database connections work again')
    isFailing = false
  }

  /** @param {ClientPool} from @returns {Promise<Client>} */
  async function connect(from, isRepeat = false) {
    const began_ms = performance.now()
    // After a pause, one login tries whether others may follow.
    if (began_ms >= loginsAt_ms && pool.options.max < config.poolMax) {
      pool.options.max = Math.min(config.poolMax, open() + 1)
    }
    try {
      return /** @type {Client} */ (await from.connect())
    } catch (error) {
      const isQueued = /** @type {Error} */ (error).message === QUEUE_TIMEOUT
      if (isQueued) throw new ApiError('no_database_slot', undefined, { cause: error })
      const now_ms = performance.now()
      const others = from === shared ? pipeline.open() : open()
      if (others === 0 || now_ms - served_ms >= RETRY_MS) throw lost(error)
      logLogin(error)
      if (from === shared) throw unavailable(error)
      // pg-pool would try a login for every request. With no room for further connections, requests wait for those that serve.
      // (Undocumented: pg-pool reads its maximum anew at every use.)
      pool.options.max = Math.min(config.poolMax, others)
      loginsAt_ms = now_ms + RETRY_MS
      const isLate = now_ms - began_ms > config.poolConnectTimeoutMs / 2
      if (isRepeat || isLate) throw unavailable(error)
    }
    return connect(pool, true)
  }

  /** @param {ClientPool} from */
  async function connectAnew(from) {
    let client = await connect(from)
    while (isOutdated(client)) {
      client.release(true)
      client = await connect(from)
    }
    return client
  }

  /** @param {Client} client @param {Statement} statement @param {(broken: boolean) => void} [release] */
  async function run(client, statement, release) {
    const startedAt = performance.now()
    try {
      const result = await client.query(statement)
      served()
      observe((served_ms - startedAt) / 1000)
      release?.(false)
      return result
    } catch (error) {
      const { code, message } = /** @type {Error & { code?: string }} */ (error)
      const { problem, endsSession } = outcomeOf(error)
      const earlier = code === UNPREPARED ? earlierRefusal(client, startedAt) : undefined
      if (code === READ_ONLY || message === SILENT) replaceSessions()
      // A shared connection that is unusable but still open; the others may serve.
      else if (endsSession && !release && !earlier) pipeline.retireOne(client)
      release?.(endsSession)
      if (problem === 'database_refused') refusals.set(client, { cause: error, at_ms: performance.now() })
      if (problem === 'database_refused' || earlier) throw refused(earlier ?? error)
      if (problem === 'database_unavailable' && endsSession) throw lost(error)
      if (problem === 'database_unavailable') logFailure(error)
      throw new ApiError(problem, undefined, { cause: error })
    }
  }

  /**
   * On a shared connection, a refused Parse also fails the statements sent after it, for which Postgres only reports that
   * the prepared statement does not exist. The refusal is their real cause.
   * @param {object} client @param {number} sentAt_ms
   */
  function earlierRefusal(client, sentAt_ms) {
    const earlier = refusals.get(client)
    return earlier && sentAt_ms < earlier.at_ms ? earlier.cause : undefined
  }

  /** @param {unknown} cause */
  function refused(cause) {
    logRefusal(cause)
    return new ApiError('database_refused', undefined, { cause })
  }

  /** @param {Statement} statement */
  async function query(statement) {
    const client = await connectAnew(pool)
    return run(client, statement, (broken) => client.release(broken || isOutdated(client)))
  }

  const pipeline = createPipeline({
    width: config.pipelineConnections,
    silence_ms: silenceOf(config),
    lifetime_ms: config.poolMaxLifetimeMs,
    onSilence: replaceSessions,
    connect: () => connectAnew(shared),
    run,
  })

  return {
    /**
     * Runs one statement on a pool connection. Once it resolves, the statement is committed.
     * @param {Statement} statement @returns {Promise<Result>}
     * @throws {ApiError} row_refused, no_database_slot, database_unavailable, database_refused: nothing was stored;
     *   outcome_unknown: the rows may have been stored
     */
    query,

    /** Runs a statement that stores nothing, so its outcome is never unknown. @param {Statement} statement @returns {Promise<Result>} */
    read: (statement) =>
      query(statement).catch((error) => {
        throw error instanceof ApiError && error.code === 'outcome_unknown' ? lost(error.cause) : error
      }),

    /** Runs a statement on a shared connection: it is sent without waiting for those ahead, and it commits alone. */
    pipe: pipeline.query,

    /** Measures a round trip with an empty statement, in ms. @throws the error of pg or of `query` */
    async roundTrip() {
      const client = await connect(pool)
      let isBroken = true
      try {
        const sentAt_ms = performance.now()
        await client.query(NOTHING)
        isBroken = false
        return performance.now() - sentAt_ms
      } finally {
        client.release(isBroken)
      }
    },

    /** Number of open and idle connections. */
    stats: () => ({ total: pool.totalCount + shared.totalCount, idle: pool.idleCount + pipeline.idle() }),

    /** Number of statements waiting for a connection, or behind others on one. */
    waiting: () => pool.waitingCount + pipeline.waiting(),

    /** Changes whenever all sessions are replaced. */
    generation: () => generation,

    /** Time of the last successful statement, from performance.now(). */
    served_ms: () => served_ms,

    /** Closes every connection when its statements have finished. */
    async end() {
      await pipeline.end()
      await Promise.all([pool.end(), shared.end()])
    },
  }
}

/** @param {unknown} cause */
const unavailable = (cause) => new ApiError('database_unavailable', undefined, { cause })

/** @typedef {ReturnType<typeof createPool>} Pool */
