import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { constants } from 'node:os'
import pino from 'pino'
import { createApp } from './app.js'
import { ConfigError, readConfig, warningsOf } from './config.js'
import { checkDatabaseSettings, openSession } from './connections.js'
import { drain } from './drain.js'
import { createGate } from './gate.js'
import { createInsertOnce } from './idempotency.js'
import { insertModes } from './insert.js'
import { createAdminServer, createMetrics } from './metrics.js'
import { passwordStorage } from './passwords.js'
import { createPool } from './pool.js'
import { createReadiness } from './readiness.js'
import { createUsers } from './users.js'

/** Codes of the end after a signal; 2 is for a configuration that is wrong. */
const EXIT = { drained: 0, dropped: 1 }

/** Files that are neither client connections nor the pool's: the admin listener's, the readiness check's session, the log, Node's own. */
const OTHER_FILES = 48

/** How often Node looks for requests that take too long; its default of 30 s would make the timeouts a fiction. */
const TIMEOUT_CHECK_INTERVAL_MS = 500

const config = configOrExit()
const log = pino({ level: config.logLevel, serializers: { err: describeError } })

/** @type {Set<import('node:net').Socket>} */
const sockets = new Set()
let droppedConnections = 0

await main()

async function main() {
  for (const warning of warningsOf(config)) log.warn(warning)
  const metrics = createMetrics(config)
  const pool = createPool(config, { log, observe: metrics.observeStatement })
  const insert = insertModes[config.insertMode](pool, config)
  const insertOnce = createInsertOnce(pool, config)
  const users = createUsers({ pool, insert, insertOnce, storePassword: passwordStorage[config.passwordStorage] })
  const waiting = () => (insert.waiting?.() ?? 0) + pool.waiting() + users.waiting()
  const gate = createGate({ waiting, limits: config })
  const app = createApp({ users, gate, log, bodyLimitBytes: config.bodyLimitBytes })
  const server = createApiServer(app)
  metrics.watch({ app, pool, users, gate, server, dropped: () => droppedConnections })

  let draining = false
  const readiness = createReadiness({
    openSession: () => openSession(config),
    pool,
    maxLifetime_ms: config.poolMaxLifetimeMs,
    log,
    isDraining: () => draining,
  })
  const admin = createAdminServer({ registry: metrics.registry, readiness })
  const url = await listen(server, config.port, config.host, config.listenBacklog)
  const adminUrl = await listen(admin, config.adminPort, config.adminHost)
  log.info({ url, admin_url: adminUrl, insert_mode: config.insertMode, pool_max: config.poolMax }, 'listening')

  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGINT'])) {
    process.on(signal, async () => {
      if (draining) process.exit(128 + constants.signals[signal])
      draining = true
      log.info({ signal, bound_ms: config.shutdownTimeoutMs }, 'draining: finishing what is in flight')
      readiness.end()
      const { isComplete, dropped } = await drain({ server, sockets, app, pool, timeoutMs: config.shutdownTimeoutMs })
      if (dropped > 0) log.warn({ dropped_requests: dropped }, 'shutdown took too long: dropped what was in flight')
      else if (!isComplete) log.warn('shutdown took too long: closed connections whose request had not arrived')
      log.info('stopped')
      process.exit(dropped === 0 ? EXIT.drained : EXIT.dropped)
    })
  }
}

/** Omits Postgres' error detail, which quotes the row, password included. @param {any} error */
function describeError({ name, code, message, stack }) {
  return { type: name, code, message, stack }
}

/** @returns {import('./config.js').Config} */
function configOrExit() {
  try {
    const read = readConfig()
    checkDatabaseSettings(read)
    return read
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    process.stderr.write(`redline: ${error.message}\n`)
    process.exit(2)
  }
}

/** @param {import('./app.js').App} app */
function createApiServer(app) {
  const server = http.createServer(
    {
      keepAliveTimeout: config.keepAliveTimeoutMs,
      headersTimeout: config.requestTimeoutMs,
      requestTimeout: config.requestTimeoutMs,
      connectionsCheckingInterval: TIMEOUT_CHECK_INTERVAL_MS,
    },
    app.handle,
  )
  // A connection on which nothing moves for longer than any request may take belongs to a client that does not read.
  server.timeout = config.requestTimeoutMs + config.poolConnectTimeoutMs + config.statementTimeoutMs
  // A client that closes its side behind its request still gets its answer: the row is stored by then. (Node's own
  // property, in lib/_http_server.js since 0.x and without a page in the manual; by default it drops the answer.)
  Object.assign(server, { httpAllowHalfOpen: true })
  // At the limit of open files the kernel keeps accepting connections, and Node closes them silently.
  const otherFiles = OTHER_FILES + config.poolMax + config.pipelineConnections
  server.maxConnections = Math.max(1, Math.min(config.maxConnections, openFiles() - otherFiles))
  server.on('drop', () => droppedConnections++)
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('checkExpectation', app.refuseExpectation)
  server.on('clientError', app.clientError)
  return server
}

/** The hard limit of open files, to which Node raises the soft one at its start; Infinity where there is no /proc. */
function openFiles() {
  try {
    return Number(/^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/**
 * @param {http.Server} server
 * @param {number} port
 * @param {string} host
 * @param {number} [backlog]
 * @returns {Promise<string>} where it listens
 */
async function listen(server, port, host, backlog) {
  server.listen({ port, host, backlog })
  try {
    await once(server, 'listening')
  } catch (error) {
    process.stderr.write(`redline: cannot listen on ${host}:${port}: ${/** @type {Error} */ (error).message}\n`)
    process.exit(2)
  }
  const { address, family, port: bound } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${bound}`
}
