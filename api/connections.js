import pg from 'pg'
import { ConfigError } from './config.js'

/**
 * @import { Config } from './config.js'
 * @import { Duplex } from 'node:stream'
 * @import { PoolConfig } from 'pg'
 * @import { Logger } from 'pino'
 */

/** Limit on a login or statement of the readiness check; /readyz itself answers sooner. */
const SESSION_TIMEOUT_MS = 2000

/** Refuses settings that pg cannot read: every connection would fail. @param {Config} config @throws {ConfigError} */
export function checkDatabaseSettings({ databaseUrl }) {
  try {
    const { port } = new pg.Client({ connectionString: databaseUrl })
    if (!(port >= 1 && port <= 65_535)) throw new Error(`port ${port}`)
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    throw new ConfigError(`DATABASE_URL or PG variables: expected what pg takes, got ${message}`)
  }
}

/** Opens a session outside the pool, for the readiness check. DATABASE_URL may give it another name. @param {Config} config @returns {Promise<Session>} */
export async function openSession({ databaseUrl }) {
  const client = new LoginClient({
    connectionString: databaseUrl,
    application_name: 'redline-api-readiness',
    connectionTimeoutMillis: SESSION_TIMEOUT_MS,
    statement_timeout: SESSION_TIMEOUT_MS,
    query_timeout: SESSION_TIMEOUT_MS,
    keepAlive: true,
  })
  await client.connect()
  return /** @type {any} */ (client)
}

/**
 * Closes sockets that pg leaves open: after a login that failed on our side (no password, say), Postgres would keep a backend for a
 * minute; a silent server never closes its side.
 */
class LoginClient extends /** @type {new (...args: any[]) => any} */ (pg.Client) {
  /** When the login began. */
  begun_ms = performance.now()
  isEnding = false

  /** @param {(error: Error | null) => void} [callback] pg-pool's */
  connect(callback) {
    // An 'error' event without a listener crashes the process, and a dying server can cause one with its greeting, before any
    // code uses the connection. The next statement on it fails anyway.
    this.on('error', () => {})
    guardParser(this.connection)
    const connected = super.connect().catch((/** @type {Error} */ error) => {
      this.connection.stream.destroy()
      throw error
    })
    return callback ? void connected.then(() => callback(null), callback) : connected
  }

  /**
   * Says goodbye, and cuts the connection if the server does not answer; not in a pipeline, which may owe many answers and has its own
   * watchdog. @param {() => void} [callback] pg-pool's
   */
  end(callback) {
    this.isEnding = true
    const { query_timeout } = this.connectionParameters
    const { stream } = this.connection
    const ended = super.end(callback)
    if (query_timeout > 0 && !stream.destroyed && !this._ended) {
      const cut = setTimeout(() => stream.destroy(), query_timeout).unref()
      this.connection.once('end', () => clearTimeout(cut))
    }
    return ended
  }
}

/** pg's parser throws uncaught on a malformed message: this guard destroys that connection instead. @param {any} connection */
function guardParser(connection) {
  const { attachListeners } = connection
  connection.attachListeners = (/** @type {Duplex} */ stream) => {
    const on = (/** @type {string} */ event, /** @type {(bytes: Buffer) => void} */ listener) =>
      stream.on(event, (bytes) => {
        try {
          listener(bytes)
        } catch (error) {
          stream.destroy(/** @type {Error} */ (error))
        }
      })
    attachListeners.call(connection, { on })
  }
}

/** Timeout in ms for a silent server, longer than the statement timeout, so that a live server answers first. @param {Config} config */
export const silenceOf = ({ statementTimeoutMs }) => statementTimeoutMs + 1000

/** @param {Config} config @param {Logger} log @param {PoolConfig & { pipeline?: boolean }} options */
export function openPool(config, log, options) {
  const pool = new pg.Pool({
    connectionString: config.databaseUrl,
    application_name: 'redline-api',
    connectionTimeoutMillis: config.poolConnectTimeoutMs,
    idleTimeoutMillis: config.poolIdleTimeoutMs,
    statement_timeout: config.statementTimeoutMs,
    query_timeout: silenceOf(config),
    keepAlive: true,
    Client: /** @type {any} */ (LoginClient),
    ...options,
  })
  pool.on('error', (error) => log.debug({ err: error }, 'an idle database connection was lost'))
  return pool
}

/**
 * @typedef {pg.Client} Session
 * @typedef {pg.Pool} ClientPool
 * @typedef {pg.PoolClient & { begun_ms: number, isEnding: boolean }} Client
 * @typedef {pg.QueryConfig} Statement
 * @typedef {pg.QueryResult} Result
 */
