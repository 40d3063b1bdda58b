import pg from 'pg'
import { ConfigError } from './config.js'

/**
 * @import { Config } from './config.js'
 * @import { Duplex } from 'node:stream'
 * @import { PoolConfig } from 'pg'
 * @import { Logger } from 'pino'
 */

/** Of a login or a statement of the readiness check, whose answer does not wait for it. */
const SESSION_TIMEOUT_MS = 2000

/** Refuses what pg would stumble over at every connection. @param {Config} config @throws {ConfigError} */
export function checkDatabaseSettings({ databaseUrl }) {
  try {
    const { port } = new pg.Client({ connectionString: databaseUrl })
    if (!(port >= 1 && port <= 65_535)) throw new Error(`port ${port}`)
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    throw new ConfigError(`DATABASE_URL or PG variables: expected what pg takes, got ${message}`)
  }
}

/** Opens a session beside the pool, for the readiness check. @param {Config} config */
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
  return {
    /** The first row that a statement gives. @param {string} text @returns {Promise<any>} */
    row: async (text) => (await client.query(text)).rows[0],
    end: () => client.end(),
  }
}

/** pg keeps the socket of a login that fails on this side (no password, for one), and Postgres a backend for a minute. */
class LoginClient extends /** @type {new (...args: any[]) => any} */ (pg.Client) {
  /** @param {(error: Error | null) => void} [callback] pg-pool's */
  connect(callback) {
    // An error that nobody listens for ends the process, and a server that dies can send one with its greeting, before anybody
    // has the connection. The next statement on it fails.
    this.on('error', () => {})
    guardParser(this.connection)
    const connected = super.connect().catch((/** @type {Error} */ error) => {
      this.connection.stream.destroy()
      throw error
    })
    return callback ? void connected.then(() => callback(null), callback) : connected
  }
}

/** pg's parser throws on a malformed message, where nothing catches it: the guard breaks that connection instead. @param {any} connection */
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

/** The server's own timeout answers first where there is an answer; this one is for a server that has gone silent. @param {Config} config */
export function silenceOf({ statementTimeoutMs }) {
  return statementTimeoutMs + 1000
}

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
 * @typedef {Awaited<ReturnType<typeof openSession>>} Session
 * @typedef {pg.Pool} ClientPool
 * @typedef {pg.PoolClient} Client
 * @typedef {pg.QueryConfig} Statement
 * @typedef {pg.QueryResult} Result
 */
