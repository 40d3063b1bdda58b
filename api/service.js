import { once } from 'node:events'
import http from 'node:http'
import { createApp } from './app.js'
import { ConfigError, HASHING_THREADS, warningsOf } from './config.js'
import { checkDatabaseSettings } from './connections.js'
import { drain } from './drain.js'
import { createGate } from './gate.js'
import { createInsertOnce } from './idempotency.js'
import { insertModes } from './insert.js'
import { createCauseLog } from './log.js'
import { createAdminServer, createMetrics } from './metrics.js'
import { clientConnections } from './open-files.js'
import { passwordStorage } from './passwords.js'
import { createPool } from './pool.js'
import { createQuietWatch } from './quiet.js'
import { createReadiness } from './readiness.js'
import { createUsers } from './users.js'

/**
 * @import { App } from './app.js'
 * @import { Config } from './config.js'
 * @import { AddressInfo } from 'node:net'
 * @import { Logger } from 'pino'
 */

/** Interval at which Node checks for slow requests; its default of 30 s would make the timeouts meaningless. */
const TIMEOUT_CHECK_INTERVAL_MS = 500

/** Starts the whole service on its two ports. @param {Config} config @param {Logger} log @throws {ConfigError} also if a port is unavailable, or too few files may be open */
export async function startService(config, log) {
  checkDatabaseSettings(config)
  for (const warning of warningsOf(config)) log.warn(warning)
  const metrics = createMetrics(config)
  const pool = createPool(config, { log, observe: metrics.observeStatement })
  const insert = insertModes[config.insertMode](pool, config)
  const insertOnce = createInsertOnce(pool, config)
  const storePassword = passwordStorage[config.passwordStorage]
  const users = createUsers({ pool, insert, insertOnce, storePassword, hashingThreads: HASHING_THREADS })
  const waiting = () => (insert.waiting?.() ?? 0) + pool.waiting() + users.waiting()
  const gate = createGate({ waiting, limits: config })
  const app = createApp({ users, gate, log, bodyLimitBytes: config.bodyLimitBytes })
  const { server, sockets } = createApiServer(app, config, log)
  metrics.watch({ app, pool, users, gate, server })

  let draining = false
  const readiness = createReadiness(config, { pool, log, isDraining: () => draining })
  const admin = createAdminServer({ registry: metrics.registry, readiness })
  const url = await listen(server, config.port, config.host, config.listenBacklog)
  const adminUrl = await listen(admin, config.adminPort, config.adminHost)
  const logRefusal = createCauseLog(log, 'cannot accept a connection: its client gets no answer')
  for (const one of [server, admin]) one.on('error', logRefusal)
  log.info({ url, admin_url: adminUrl, insert_mode: config.insertMode, pool_max: config.poolMax }, 'listening')

  return {
    url,
    adminUrl,
    /** Stops accepting connections and answers requests that have arrived, within the configured timeout. */
    drain() {
      draining = true
      readiness.end()
      return drain({ server, sockets, app, pool, timeoutMs: config.shutdownTimeoutMs })
    },

    /** Stops at once, for a process that keeps running; statements in flight finish on their own. */
    close() {
      // A drain closes the pool itself.
      if (!draining) void pool.end()
      draining = true
      readiness.end()
      for (const one of [server, admin]) {
        one.close()
        one.closeAllConnections()
      }
    },
  }
}

/** @param {App} app @param {Config} config @param {Logger} log */
function createApiServer(app, config, log) {
  const server = http.createServer(
    {
      keepAliveTimeout: config.keepAliveTimeoutMs,
      headersTimeout: config.requestTimeoutMs,
      requestTimeout: config.requestTimeoutMs,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
      // The app answers a request without one, as a problem document like all others.
      requireHostHeader: false,
      // By default, Node keeps the first Host and drops the others.
      joinDuplicateHeaders: true,
    },
    app.handle,
  )
  // By default, Node drops the answer to a client that half-closes after its request, though the row is stored by then.
  // (Undocumented property, in lib/_http_server.js since 0.x.)
  Object.assign(server, { httpAllowHalfOpen: true })
  // By default, Node drops all headers behind the first thousand, though its parser obeys them. Their total size is limited anyway.
  server.maxHeadersCount = 0
  server.maxConnections = clientConnections(config, log)
  const { sockets, add } = createQuietWatch({
    idle_ms: config.keepAliveTimeoutMs,
    // Longer than a client needs to send a request, or to read its answer.
    stuck_ms: config.requestTimeoutMs + config.poolConnectTimeoutMs + config.statementTimeoutMs,
  })
  server.on('connection', add)
  server.on('checkExpectation', app.refuseExpectation)
  server.on('clientError', app.clientError)
  server.on('connect', app.refuseConnect)
  return { server, sockets }
}

/** Starts listening and resolves to the URL. @param {http.Server} server @param {number} port @param {string} host @param {number} [backlog] */
async function listen(server, port, host, backlog) {
  server.listen({ port, host, backlog })
  try {
    await once(server, 'listening')
  } catch (error) {
    throw new ConfigError(`cannot listen on ${host}:${port}: ${/** @type {Error} */ (error).message}`)
  }
  const { address, family, port: bound } = /** @type {AddressInfo} */ (server.address())
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
}
