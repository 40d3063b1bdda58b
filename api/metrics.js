import { createServer } from 'node:http'
import { monitorEventLoopDelay, PerformanceObserver, performance } from 'node:perf_hooks'
import { promisify } from 'node:util'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { HASHING_THREADS } from './config.js'
import { send } from './http.js'

/**
 * @import { App } from './app.js'
 * @import { Config } from './config.js'
 * @import { Gate } from './gate.js'
 * @import { Pool } from './pool.js'
 * @import { Readiness } from './readiness.js'
 * @import { Users } from './users.js'
 * @import { Server } from 'node:net'
 */

const LOOP_INTERVAL_MS = 1000
const LOOP_RESOLUTION_MS = 10

const watched = watchProcess()

/** Metrics of this process in Prometheus' text format: prom-client's default metrics and Redline's own. @param {Config} config */
export function createMetrics(config) {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const statementSeconds = new Histogram({
    name: 'redline_statement_seconds',
    help: 'Time of one database statement, without the wait for a connection',
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
    registers: [registry],
  })
  showConfig(registry, config)

  return {
    registry,
    observeStatement: (/** @type {number} */ seconds) => statementSeconds.observe(seconds),
    /** @param {{ app: App, pool: Pool, users: Users, gate: Gate, server: Server }} parts */
    watch({ app, pool, users, gate, server }) {
      const dropped = { connections: 0 }
      server.on('drop', () => dropped.connections++)
      show(registry, Gauge, [
        ['redline_connections', 'Client connections open', () => promisify(server.getConnections).call(server)],
        ['redline_connections_max', 'Maximum number of client connections', () => server.maxConnections],
        ['redline_in_flight_requests', 'Requests without an answer yet', () => app.stats.inFlight],
        ['redline_waiting_requests', 'Requests that wait for their turn', () => gate.signals().waiting],
        ['redline_pool_total', 'Database connections open', () => pool.stats().total],
        ['redline_pool_idle', 'Database connections without a statement', () => pool.stats().idle],
        ['redline_pool_waiting', 'Requests that wait for a database connection', () => pool.waiting()],
        ['redline_hashing_passwords', "Passwords with libuv's threads, or waiting for one", () => users.hashing()],
        ['redline_hashing_threads', "libuv's threads, which hash passwords", () => HASHING_THREADS],
        ['redline_event_loop_utilization_ratio', "Event loop's busy share, last second", () => watched.utilization],
        ['redline_event_loop_delay_p99_seconds', 'Delay of the event loop, p99, last second', () => watched.delayP99_s],
        ['redline_event_loop_delay_max_seconds', 'Longest delay of it, last second', () => watched.delayMax_s],
      ])
      show(registry, Counter, [
        ['redline_answers_total', 'Answers by HTTP status', () => app.stats.answers, 'status'],
        ['redline_problems_total', 'Answers with a problem, by its code', () => app.stats.problems, 'code'],
        ['redline_shed_total', 'Requests answered 503 at once', () => gate.shed, 'limit'],
        ['redline_dropped_connections_total', 'Beyond redline_connections_max', () => dropped, 'limit'],
        ['redline_gc_seconds_total', 'Time in which garbage collection stopped JavaScript', () => watched.gc_s],
      ])
    },
  }
}

/** Serves /metrics, /healthz (the process responds) and /readyz (this instance should get requests). @param {{ registry: Registry, readiness: Readiness }} parts */
export function createAdminServer({ registry, readiness }) {
  /** @type {Record<string, () => Promise<[number, string, string]>>} */
  const pages = {
    '/metrics': async () => [200, registry.contentType, await registry.metrics()],
    '/healthz': async () => [200, 'application/json', '{"status":"ok"}'],
    '/readyz': async () => {
      const verdict = await readiness.check()
      return [verdict.status === 'ready' ? 200 : 503, 'application/json', JSON.stringify(verdict)]
    },
  }

  return createServer(async (req, res) => {
    const page = /^(GET|HEAD)$/.test(req.method ?? '') ? pages[(req.url ?? '').split('?')[0]] : undefined
    const [status, type, body] = (await page?.()) ?? [404, 'text/plain', 'not found\n']
    send(res, { status, headers: ['Content-Type', type], body })
  })
}

/** Exposes the settings in effect, so that a lab can read back what it set. @param {Registry} registry @param {Config} config */
function showConfig(registry, { databaseUrl, ...shown }) {
  const snakeCase = (/** @type {string} */ name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const labels = Object.fromEntries(Object.entries(shown).map(([name, value]) => [snakeCase(name), String(value)]))
  new Gauge({
    name: 'redline_config_info',
    help: 'The settings in effect, as labels; always 1',
    labelNames: Object.keys(labels),
    registers: [registry],
  }).set(labels, 1)
}

/**
 * Watches what all services of this process share. Figures of the event loop cover the last full second: an average since
 * startup would respond ever more slowly.
 */
function watchProcess() {
  const watched = { utilization: 0, delayP99_s: 0, delayMax_s: 0, gc_s: 0 }
  // prom-client (15.1) also times garbage collection, but counts only the first entry of each batch.
  const gc = new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) watched.gc_s += duration / 1000
  })
  gc.observe({ entryTypes: ['gc'] })
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS })
  delay.enable()
  let before = performance.eventLoopUtilization()
  setInterval(() => {
    const now = performance.eventLoopUtilization()
    watched.utilization = performance.eventLoopUtilization(now, before).utilization
    watched.delayP99_s = lateness_s(delay.percentile(99))
    watched.delayMax_s = lateness_s(delay.max)
    before = now
    delay.reset()
  }, LOOP_INTERVAL_MS).unref()
  return watched
}

/** Node's histogram holds whole timer periods; the excess over the resolution is the delay. @param {number} period_ns */
function lateness_s(period_ns) {
  return Math.max(0, period_ns / 1e9 - LOOP_RESOLUTION_MS / 1e3)
}

/**
 * Registers metrics that are read when scraped and cost nothing in between.
 * @param {Registry} registry @param {typeof Counter | typeof Gauge} Metric @param {Row[]} rows
 * @typedef {number | Record<string, number>} Value per value of the label, if there is one
 * @typedef {[name: string, help: string, read: () => Value | Promise<Value>, label?: string]} Row
 */
function show(registry, Metric, rows) {
  for (const [name, help, read, label] of rows) {
    const collect = async () => {
      const value = await read()
      metric.reset()
      if (typeof value === 'number') metric.inc(value)
      else for (const [key, count] of Object.entries(value)) metric.inc({ [String(label)]: key }, count)
    }
    const metric = new Metric({ name, help, labelNames: label ? [label] : [], registers: [registry], collect })
  }
}
