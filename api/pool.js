import pg from 'pg'
import { ConfigError } from './config.js'
import { ApiError, StatementRefused } from './errors.js'
import { createPipeline } from './pipeline.js'

/**
 * SQLSTATE classes and codes (Postgres manual, appendix A) after which the same request may succeed later: connection
 * trouble, lost leader, out of disk, memory or connections, shut down, cancelled, lock or serialisation trouble; and a
 * prepared statement that is not there since the one before it in the pipeline failed, or is there already.
 */
const PASSING = /^(08|53|58|40|57P0|57014|55P03|25006|26000|42P05|XX)/

/** After these the session is gone: connection exceptions, and a server that shuts down or has crashed. */
const ENDS_SESSION = /^(08|57P0)/

/** Errors without a SQLSTATE: sockets (by code) and pg's own (by their text, since pg gives them no code). */
const SOCKET_ERROR = /^(E[A-Z]+|EAI_AGAIN)$/
const PG_CLIENT_ERROR = /Connection terminated|Query read timeout|not queryable|connection error/

/** pg-pool's text for "all connections were busy for connectionTimeoutMillis". */
const QUEUE_TIMEOUT = 'timeout exceeded when trying to connect'

/**
 * Refuses what pg would stumble over at every connection: it reads URL and PG variables only then.
 *
 * @param {import('./config.js').Config} config
 * @throws {ConfigError}
 */
export function checkDatabaseSettings({ databaseUrl }) {
  try {
    const { port } = new pg.Client({ connectionString: databaseUrl })
    if (!(port >= 1 && port <= 65_535)) throw new Error(`port ${port}`)
  } catch (error) {
    throw new ConfigError(
      `DATABASE_URL or PG variables: expected what pg takes, got ${/** @type {Error} */ (error).message}`,
    )
  }
}

/**
 * The one place that speaks to pg: a pool whose errors are ApiErrors, and which tells the log once when the database goes
 * and comes back, not once a request.
 *
 * @param {import('./config.js').Config} config
 * @param {{ log: import('pino').Logger, observe?: (seconds: number) => void }} options `observe` gets each statement's
 *   time on its connection, in seconds, without the wait for that connection
 */
export function createPool(config, { log, observe = () => {} }) {
  const pool = openPool(config, log, { max: config.poolMax })
  // Its timer for a silent server runs from the sending, and so counts the wait behind others: the pipeline has its own.
  const shared = openPool(config, log, { max: config.pipelineConnections, pipeline: true, query_timeout: 0 })
  let away = false

  /** @param {unknown} error */
  function lost(error) {
    if (!away) log.warn({ err: error }, 'database unavailable: answering 503 until it is back')
    away = true
    return new ApiError('database_unavailable', undefined, { cause: error })
  }

  /** @param {pg.Pool} from */
  async function connect(from) {
    try {
      return await from.connect()
    } catch (error) {
      const queued = error instanceof Error && error.message === QUEUE_TIMEOUT
      throw queued ? new ApiError('no_database_slot', undefined, { cause: error }) : lost(error)
    }
  }

  /**
   * @param {import('pg').PoolClient} client
   * @param {import('pg').QueryConfig} statement
   * @param {(broken: boolean) => void} [release]
   */
  async function run(client, statement, release) {
    const startedAt = performance.now()
    try {
      const result = await client.query(statement)
      observe((performance.now() - startedAt) / 1000)
      release?.(false)
      if (away) log.info('database available again')
      away = false
      return result
    } catch (error) {
      // A statement that Postgres refused leaves the connection in order; anything else may have broken it.
      release?.(!(error instanceof pg.DatabaseError) || ENDS_SESSION.test(error.code ?? ''))
      if (isPassing(error)) throw lost(error)
      throw error instanceof pg.DatabaseError ? new StatementRefused(error) : error
    }
  }

  const pipeline = createPipeline({
    width: config.pipelineConnections,
    silence_ms: silenceOf(config),
    connect: () => connect(shared),
    run,
  })

  return {
    /**
     * Runs one statement on a connection of the pool. When it has resolved, the statement is committed.
     *
     * @param {import('pg').QueryConfig} statement
     * @returns {Promise<import('pg').QueryResult>}
     * @throws {ApiError} no_database_slot, database_unavailable
     * @throws {StatementRefused} nothing of it was stored
     */
    async query(statement) {
      const client = await connect(pool)
      return run(client, statement, (broken) => client.release(broken))
    },

    /**
     * The same on a connection that many statements share: each is sent behind the others without waiting for their
     * answers, and each commits alone.
     *
     * @param {import('pg').QueryConfig} statement
     * @returns {Promise<import('pg').QueryResult>}
     * @throws {ApiError} database_unavailable
     * @throws {StatementRefused}
     */
    pipe: (/** @type {import('pg').QueryConfig} */ statement) => pipeline.query(statement),

    /** Connections open and idle. */
    stats: () => ({
      total: pool.totalCount + shared.totalCount,
      idle: pool.idleCount + pipeline.idle(),
    }),

    /** Statements that wait for a connection, or behind others on one. */
    waiting: () => pool.waitingCount + pipeline.waiting(),

    /** Closes every connection when its statement has ended. */
    async end() {
      await pipeline.end()
      await Promise.all([pool.end(), shared.end()])
    },
  }
}

/** The server's own timeout answers first where there is an answer; this one is for a server that has gone silent. @param {import('./config.js').Config} config */
function silenceOf({ statementTimeoutMs }) {
  return statementTimeoutMs + 1000
}

/**
 * @param {import('./config.js').Config} config
 * @param {import('pino').Logger} log
 * @param {{ max: number, pipeline?: boolean, query_timeout?: number }} options
 */
function openPool(config, log, options) {
  const pool = new pg.Pool({
    connectionString: config.databaseUrl,
    application_name: 'redline-api',
    connectionTimeoutMillis: config.poolConnectTimeoutMs,
    idleTimeoutMillis: config.poolIdleTimeoutMs,
    statement_timeout: config.statementTimeoutMs,
    query_timeout: silenceOf(config),
    keepAlive: true,
    ...options,
  })
  // pg-pool listens to a connection only while it is idle; one that breaks under a statement would end the process.
  pool.on('connect', (client) => client.on('error', () => {}))
  pool.on('error', (error) => log.debug({ err: error }, 'an idle database connection was lost'))
  return pool
}

/**
 * @typedef {ReturnType<typeof createPool>} Pool
 * @typedef {import('pg').PoolClient} Client
 * @typedef {import('pg').QueryConfig} Statement
 * @typedef {import('pg').QueryResult} Result
 */

/** @param {any} error */
function isPassing(error) {
  if (error instanceof pg.DatabaseError) return PASSING.test(error.code ?? '')
  return SOCKET_ERROR.test(error.code ?? '') || PG_CLIENT_ERROR.test(error.message)
}
