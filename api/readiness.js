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
const CHECK_INTERVAL_MS = 250

/** Maximum age of the session for checks: its server may no longer be the one that requests reach. */
const KEEP_MS = 10_000

/** A statement that succeeded this recently shows that an unresponsive database is busy, not gone. */
const SERVED_WITHIN_MS = 2000

/** SQLSTATE of "too many connections", and the word that pg and Postgres use for a login or statement that timed out. */
const NO_SLOT = '53300'
const NO_ANSWER = /timeout/

/** @typedef {{ status: string, detail?: string }} Verdict status: `ready` or fixed text per problem; detail: what was expected */

/** @type {Verdict} */
const READY = { status: 'ready' }
/** @type {Verdict} */
const DRAINING = { status: 'draining' }

/**
 * Determines whether this instance should receive requests. It checks the database over its own session, so that it never waits
 * behind a request. An instance that is merely busy is ready: removing it would only make the others busier.
 * @param {Config} config @param {{ pool: Pool, log: Logger, isDraining: () => boolean }} parts
 */
export function createReadiness(config, { pool, log, isDraining }) {
  const maxLifetime_ms = config.poolMaxLifetimeMs
  /** @type {{ session: Session, generation: number, opened_ms: number } | null} */
  let kept = null
  /** @type {NodeJS.Timeout | undefined} */
  let expiry
  /** @type {Promise<Verdict> | null} */
  let checking = null
  let checked_ms = Number.NEGATIVE_INFINITY
  let lastStatus = READY.status

  async function checkDatabase() {
    await pause(Math.max(0, checked_ms + CHECK_INTERVAL_MS - performance.now()))
    clearTimeout(expiry)
    const verdict = await ask().catch(afterError)
    checked_ms = performance.now()
    checking = null
    // A session is closed at the end of its lifetime, but never during a check.
    if (kept && maxLifetime_ms > 0) expiry = setTimeout(close, kept.opened_ms + maxLifetime_ms - checked_ms).unref()
    return verdict
  }

  /** Trusts a kept session only if it says "ready", since it may be broken or on a replaced server; otherwise opens a new one. */
  async function ask() {
    if (kept?.generation === pool.generation() && performance.now() - kept.opened_ms < KEEP_MS) {
      const verdict = await verdictOf(kept.session).catch(() => null)
      if (verdict === READY) return noted(READY)
      if (!verdict) close()
    }
    const age = { generation: pool.generation(), opened_ms: performance.now() }
    try {
      const session = await openSession(config)
      close()
      kept = { ...age, session }
      // The end came during the login.
      if (isDraining()) close()
    } catch (error) {
      // If no slot is free, the existing session is used.
      if (!kept || /** @type {any} */ (error).code !== NO_SLOT) throw error
    }
    return kept ? noted(await verdictOf(kept.session)) : DRAINING
  }

  /** @param {Error & { code?: string }} error */
  function afterError(error) {
    close()
    const { code, message } = error
    const isFull = code === NO_SLOT
    const isBusy = (isFull && pool.stats().idle > 0) || ((isFull || NO_ANSWER.test(message)) && hasServed())
    return noted(isBusy ? READY : unavailable(message || String(code)), error)
  }

  function close() {
    clearTimeout(expiry)
    void kept?.session.end()
    kept = null
  }

  const hasServed = () => performance.now() - pool.served_ms() < SERVED_WITHIN_MS

  /** @param {Verdict} verdict @param {Error} [error] */
  function noted(verdict, error) {
    if (isDraining()) return DRAINING
    const { status, detail } = verdict
    if (status !== lastStatus && verdict === READY) log.info('ready again')
    else if (status !== lastStatus) log.warn({ err: error, detail }, `not ready: ${status}`)
    lastStatus = status
    return verdict
  }

  return {
    /** @returns {Promise<Verdict>} within ANSWER_WITHIN_MS; it never rejects */
    async check() {
      if (isDraining()) return DRAINING
      // Concurrent callers share one check.
      checking ??= checkDatabase()
      const verdict = await Promise.race([checking, pause(ANSWER_WITHIN_MS, null, { ref: false })])
      if (verdict) return verdict
      return hasServed() ? READY : unavailable(`expected an answer within ${ANSWER_WITHIN_MS} ms, got none`)
    },

    end: close,
  }
}

/** @typedef {ReturnType<typeof createReadiness>} Readiness */

/** @param {Session} session @returns {Promise<Verdict>} */
async function verdictOf(session) {
  const { rows } = await session.query(FACTS)
  return unfitness(rows[0]) ?? READY
}

const unavailable = (/** @type {string} */ detail) => ({ status: 'database unavailable', detail })
