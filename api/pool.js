import { openPool, silenceOf } from './connections.js'
import { ApiError } from './errors.js'
import { createCauseLog } from './log.js'
import { outcomeOf } from './outcome.js'
import { createPipeline } from './pipeline.js'

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

/** Minimum interval between replacements of all sessions: a server that stays read-only must not be flooded with logins. */
const REPLACE_INTERVAL_MS = 1000

/**
 * A pool whose errors are ApiErrors. It logs once when the database goes away and once when it comes back, not per request.
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
  /** @type {WeakMap<object, { cause: unknown, at_ms: number }>} the last refusal on each connection */
  const refusals = new WeakMap()
  let away = false
  let served_ms = Number.NEGATIVE_INFINITY

  // Sessions of an earlier generation may be connected to a former primary.
  let generation = 0
  let replaced_ms = Number.NEGATIVE_INFINITY
  /** @type {WeakMap<Client, number>} */
  const generations = new WeakMap()
  pool.on('connect', (client) => void generations.set(client, generation))
  const isOutdated = (/** @type {Client} */ client) => (generations.get(client) ?? generation) < generation

  /** Replaces every session: at once in the pipeline; in the pool, when each is next acquired or released. */
  function replaceSessions() {
    if (performance.now() - replaced_ms < REPLACE_INTERVAL_MS) return
    replaced_ms = performance.now()
    generation++
    pipeline.retire()
  }

  /** @param {unknown} error */
  function lost(error) {
    if (!away) log.warn({ err: error }, 'database unavailable: answering 503 until it is back')
    away = true
    return new ApiError('database_unavailable', undefined, { cause: error })
  }

  /** @param {ClientPool} from */
  async function connect(from) {
    try {
      return await from.connect()
    } catch (error) {
      const isQueued = /** @type {Error} */ (error).message === QUEUE_TIMEOUT
      throw isQueued ? new ApiError('no_database_slot', undefined, { cause: error }) : lost(error)
    }
  }

  /** @param {Client} client @param {Statement} statement @param {(broken: boolean) => void} [release] */
  async function run(client, statement, release) {
    const startedAt = performance.now()
    try {
      const result = await client.query(statement)
      served_ms = performance.now()
      observe((served_ms - startedAt) / 1000)
      release?.(false)
      if (away) log.info('database available again')
      away = false
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
      if (problem === 'database_unavailable') throw lost(error)
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
    let client = await connect(pool)
    while (isOutdated(client)) {
      client.release(true)
      client = await connect(pool)
    }
    return run(client, statement, (broken) => client.release(broken || isOutdated(client)))
  }

  const pipeline = createPipeline({
    width: config.pipelineConnections,
    silence_ms: silenceOf(config),
    lifetime_ms: config.poolMaxLifetimeMs,
    onSilence: replaceSessions,
    connect: () => connect(shared),
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

/** @typedef {ReturnType<typeof createPool>} Pool */
