import http from 'node:http'
import { createApp } from '../../../api/app.js'
import { createGate } from '../../../api/gate.js'
import { createInsertOnce } from '../../../api/idempotency.js'
import { insertModes } from '../../../api/insert.js'
import { createPool } from '../../../api/pool.js'
import { createUsers } from '../../../api/users.js'

/**
 * @import { Config } from '../../../api/config.js'
 * @import { Server } from './postgres.js'
 * @import { Logger } from 'pino'
 */

/** No limit of the service sheds unless a simulation asks for it. */
export const UNLIMITED = { maxQueueRequests: 1_000_000, maxQueueMs: 0, maxLoopDelayMs: 0 }

const DEFAULTS = {
  databaseUrl: 'postgres://redline:redline@simulated:5432/redline?sslmode=disable',
  poolMax: 2,
  poolConnectTimeoutMs: 500,
  poolIdleTimeoutMs: 5000,
  poolMaxLifetimeMs: 0,
  statementTimeoutMs: 1000,
  insertMode: 'batched',
  pipelineConnections: 2,
  batchSlots: 2,
  batchMaxRows: 3,
  idempotencyKeyTtlMs: 86_400_000,
  ...UNLIMITED,
}

/** @typedef {typeof DEFAULTS} Settings */

/**
 * The API as server.js puts it together, from the request to the bytes for Postgres, in a simulation.
 * @param {Server} postgres
 * @param {Partial<Settings>} settings
 */
export function createService(postgres, settings) {
  const config = /** @type {Config} */ ({ ...DEFAULTS, ...settings })
  /** @type {{ level: string, message: string }[]} */
  const lines = []
  const line = (/** @type {string} */ level) => (/** @type {any} */ first, /** @type {string} */ second) =>
    void lines.push({ level, message: second ?? first })
  const log = /** @type {Logger} */ (
    /** @type {unknown} */ ({
      ...Object.fromEntries(['error', 'warn', 'info', 'debug'].map((level) => [level, line(level)])),
      isLevelEnabled: () => false,
    })
  )
  const pool = createPool(config, { log, stream: () => postgres.connect() })
  const insert = insertModes[config.insertMode](pool, config)
  const insertOnce = createInsertOnce(pool, config)
  const users = createUsers({ pool, insert, insertOnce, storePassword: (password) => password, hashingThreads: 4 })
  const waiting = () => (insert.waiting?.() ?? 0) + pool.waiting() + users.waiting()
  const gate = createGate({ waiting, limits: config })
  const app = createApp({ users, gate, log, bodyLimitBytes: 1000 })

  return {
    app,
    pool,
    gate,
    lines,
    waiting,

    /**
     * @param {string} method
     * @param {string} url
     * @param {{ body?: unknown, key?: string }} [more]
     * @returns {Exchange}
     */
    request(method, url, { body, key } = {}) {
      /** @type {Exchange} */
      const exchange = { answers: [] }
      const socket = /** @type {any} */ ({})
      const req = Object.assign(new http.IncomingMessage(socket), {
        method,
        url,
        httpVersion: '1.1',
        headers: {
          host: 'x',
          'content-type': 'application/json',
          ...(key !== undefined && { 'idempotency-key': key }),
        },
      })
      let status = 0
      /** @type {string[]} */
      let headers = []
      const res = /** @type {any} */ ({
        writeHead(/** @type {number} */ code, /** @type {string[]} */ list) {
          status = code
          headers = list
        },
        end(/** @type {string} */ text) {
          const id = status === 201 ? headers[headers.indexOf('Location') + 1].slice('/user/'.length) : ''
          exchange.answers.push({ status, code: status < 400 ? '' : JSON.parse(text).code, id, headers })
        },
        destroy() {
          exchange.answers.push({ status: 0, code: 'dropped', id: '', headers })
        },
      })
      void app.handle(req, res)
      // Node's parser calls the handler with the head, before the body.
      if (body !== undefined) req.push(Buffer.from(JSON.stringify(body)))
      req.complete = true
      req.push(null)
      return exchange
    },
  }
}

/**
 * @typedef {ReturnType<typeof createService>} Service
 * @typedef {{ answers: { status: number, code: string, id: string, headers: string[] }[] }} Exchange every answer that a request got; there
 *   should be one. `code`: of a problem
 */
