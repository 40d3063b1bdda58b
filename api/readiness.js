import { setTimeout as pause } from 'node:timers/promises'
import { openSession } from './connections.js'
import { FACTS, unfitness } from './fitness.js'

/**
 * @import { Config } from './config.js'
 * @import { Session } from './connections.js'
 * @import { Pool } from './pool.js'
 * @import { Logger } from 'pino'
 */

/** Maximum response time of /readyz, and minimum pause between two database checks. */
const ANSWER_WITHIN_MS = 1000
const LOOK_INTERVAL_MS = 250

/** Maximum age of the session for a check: its server may no longer be the one that requests reach. */
const KEEP_MS = 10_000

/** A statement that succeeded this recently shows that an unresponsive database is busy, not gone. */
const SERVED_WITHIN_MS = 2000

/** SQLSTATE of "too many connections", and the word that pg and Postgres use for a login or statement that timed out. */
const NO_SLOT = '53300'
const NO_ANSWER = /timeout/

/** @typedef {{ status: string, detail?: string }} Verdict status: `ready` or fixed text per problem; detail: what was expected */

/** @type {Verdict} */
const READY = { status: 'ready' }

/**
 * Determines whether this instance should get requests. It checks the database over its own session, so that it never waits
 * behind a request. An instance that is merely busy is ready: removing it would only make the others busier.
 *
 * @param {Config} config
 * @param {{ pool: Pool, log: Logger, isDraining: () => boolean }} parts
 */
export function createReadiness(config, { pool, log, isDraining }) {
  const maxLifetime_ms = config.poolMaxLifetimeMs
  /** @type {{ session: Session, generation: number, opened_ms: number, timer?: NodeJS.Timeout } | null} */
  let kept = null
  /** @type {Promise<Verdict> | null} */
  let looking = null
  let looked_ms = Number.NEGATIVE_INFINITY
  let lastStatus = READY.status

  async function look() {
    await pause(Math.max(0, looked_ms + LOOK_INTERVAL_MS - performance.now()))
    const verdict = await judge()
    looked_ms = performance.now()
    looking = null
    expire()
    return verdict
  }

  async function judge() {
    try {
      return noted(await askKeptOrFresh())
    } catch (error) {
      const { code, message } = /** @type {Error & { code?: string }} */ (error)
      const isFull = code === NO_SLOT
      const isBusy = (isFull && pool.stats().idle > 0) || ((isFull || NO_ANSWER.test(message)) && hasServed())
      return noted(isBusy ? READY : unavailable(message || String(code)), error)
    }
  }

  /** Trusts a kept session only if it says "ready", since it may be broken or on a replaced server; otherwise opens a new one. */
  async function askKeptOrFresh() {
    if (kept && isCurrent(kept)) {
      const verdict = await ask(kept.session).catch(() => null)
      if (verdict === READY) return verdict
      if (!verdict) close()
    }
    try {
      const age = { generation: pool.generation(), opened_ms: performance.now() }
      const session = await openSession(config)
      close()
      kept = { ...age, session }
      if (maxLifetime_ms > 0) kept.timer = setTimeout(expire, maxLifetime_ms).unref()
    } catch (error) {
      // If no slot is free, the existing session is used.
      if (!kept || /** @type {any} */ (error).code !== NO_SLOT) throw error
    }
    try {
      return await ask(kept.session)
    } catch (error) {
      close()
      throw error
    }
  }

  /** @param {NonNullable<typeof kept>} session */
  function isCurrent({ generation, opened_ms }) {
    return generation === pool.generation() && performance.now() - opened_ms < KEEP_MS
  }

  /** Closes the session at the end of its lifetime, but never during a check. */
  function expire() {
    if (!kept || looking || maxLifetime_ms === 0) return
    if (performance.now() - kept.opened_ms >= maxLifetime_ms) close()
  }

  function close() {
    clearTimeout(kept?.timer)
    void kept?.session.end()
    kept = null
  }

  const hasServed = () => performance.now() - pool.served_ms() < SERVED_WITHIN_MS

  /** @param {Verdict} verdict @param {unknown} [error] */
  function noted(verdict, error) {
    const { status, detail } = verdict
    if (status !== lastStatus && verdict === READY) log.info('ready again')
    else if (status !== lastStatus) log.warn({ err: error, detail }, `not ready: ${status}`)
    lastStatus = status
    return verdict
  }

  return {
    /** @returns {Promise<Verdict>} within ANSWER_WITHIN_MS; it never rejects */
    async check() {
      if (isDraining()) return { status: 'draining' }
      // Concurrent callers share one check.
      looking ??= look()
      const verdict = await Promise.race([looking, pause(ANSWER_WITHIN_MS, null, { ref: false })])
      if (verdict) return verdict
      return hasServed() ? READY : unavailable(`expected an answer within ${ANSWER_WITHIN_MS} ms, got none`)
    },

    end: close,
  }
}

/** @typedef {ReturnType<typeof createReadiness>} Readiness */

/** @param {Session} session @returns {Promise<Verdict>} */
async function ask(session) {
  return unfitness(await session.row(FACTS)) ?? READY
}

/** @param {string} detail @returns {Verdict} */
function unavailable(detail) {
  return { status: 'database unavailable', detail }
}
