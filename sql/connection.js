import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'

/** The database cannot be used as it is. The message says what was expected and what to do. */
export class DatabaseError extends Error {}

const CONNECT_TIMEOUT_MS = 5000
const END_TIMEOUT_MS = 2000

/** Enough to count 100 million rows. The server cancels the statement; this side gives up a little later. */
export const STATEMENT_TIMEOUT_MS = 30_000
const ANSWER_TIMEOUT_MS = STATEMENT_TIMEOUT_MS + 2000

/** Only a session that holds a lock on the table makes a statement wait: one of a killed run, or of an API whose load has just ended. */
const LOCK_TIMEOUT_MS = 10_000

/**
 * Opens a session whose statements are bounded in time, unless told otherwise.
 * @param {string} url @param {{ isBounded?: boolean }} [options]
 * @throws {DatabaseError} if no Postgres answers, or a TLS file of the URL cannot be read
 */
export async function connect(url, { isBounded = true } = {}) {
  const client = clientOf({
    connectionString: url,
    application_name: 'redline-lab',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: isBounded ? ANSWER_TIMEOUT_MS : 0,
  })
  // After a lost connection, the next query fails, for which somebody waits; its error does not say why.
  client.on('error', (error) => causes.set(client, error.message))
  try {
    await client.connect()
    // A pooler may refuse these as parameters of the connection.
    await client.query(
      `SET lock_timeout = ${LOCK_TIMEOUT_MS}; SET statement_timeout = ${isBounded ? STATEMENT_TIMEOUT_MS : 0}`,
    )
    return client
  } catch (error) {
    destroy(client)
    const { message, code } = /** @type {Error & { code?: string }} */ (error)
    throw new DatabaseError(`DATABASE_URL: expected a Postgres that answers, got: ${message || code}`)
  }
}

/** pg reads the files that the URL names at once. @param {pg.ClientConfig} config */
function clientOf(config) {
  try {
    return new pg.Client(config)
  } catch (error) {
    const { message } = /** @type {Error} */ (error)
    throw new DatabaseError(`DATABASE_URL: expected TLS files that can be read, got: ${message}`)
  }
}

/** SQLSTATE of a server that ends (class 57, operator intervention). */
const ENDING = /^57P0[12]$/

/** Why a client lost its connection. @type {WeakMap<pg.Client, string>} */
const causes = new WeakMap()

/**
 * The error of a statement, or, if its connection was lost, why it was.
 * @param {any} error @param {pg.Client} client @param {string | null} [endedBy] by what a Postgres of our own ended
 * @returns {Error}
 */
export function ofLost(error, client, endedBy = null) {
  const cause = ENDING.test(error.code) ? error.message : causes.get(client)
  if (!cause) return error
  const server = endedBy ? `the Postgres of this run ended unexpectedly (${endedBy})` : cause
  return new DatabaseError(`expected Postgres to stay up, lost the connection: ${server}`)
}

/** Round trips that are timed, since a busy machine makes most of them late. */
const TRIES = 25

/** The shortest round trip of some statements that ask nothing, in ms. @param {pg.Client} client */
export async function roundTrip_ms(client) {
  const times_ms = []
  for (let i = 0; i < TRIES; i++) {
    const start_ms = performance.now()
    await client.query('')
    times_ms.push(performance.now() - start_ms)
  }
  return Math.min(...times_ms)
}

/** Ends the connection, and cuts it if the server does not answer. @param {pg.Client} client */
export async function end(client) {
  await settled(END_TIMEOUT_MS, client.end())
  destroy(client)
}

/** Cuts the connection: every pending statement fails at once. @param {pg.Client} client */
export function destroy(client) {
  void (/** @type {any} */ (client).connection.stream.destroy())
}

/** Waits for some work, but no longer than this, and ignores its failure. @param {number} timeout_ms @param {Promise<unknown>} work */
export async function settled(timeout_ms, work) {
  const timer = new AbortController()
  await Promise.race([work, pause(timeout_ms, undefined, { signal: timer.signal })]).catch(() => {})
  timer.abort()
}
