import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { NotApplied } from '../../load/command/errors.js'
import { asksForTls, startBetween } from './between.js'
import { openSession } from './session.js'

/** @import { Place } from '../../load/run/site.js' */

const PROXY = fileURLToPath(new URL('distance-proxy.js', import.meta.url))

/** Round trips that are timed, since a busy machine makes most of them late. */
const TRIES = 25

/**
 * Puts a proxy between this place and its Postgres which delays what goes through, so that a round trip takes longer.
 *
 * @param {Place} place @param {number} roundTrip_ms
 * @throws {NotApplied} where the API is on another host, or Postgres is asked for a certificate in its own name
 */
export async function putDistance(place, roundTrip_ms) {
  if (asksForTls(place)) {
    throw new NotApplied(
      'the proxy has no certificate of the database: expected a Postgres without TLS, got verify-full',
    )
  }
  const { host, port: serverPort } = new pg.Client({ connectionString: place.databaseUrl })
  return startBetween('the proxy to a distant Postgres', place, (port) => {
    return [process.execPath, PROXY, ...[port, roundTrip_ms, host, serverPort].map(String)]
  })
}

/** The shortest round trip of some statements that ask nothing. @param {string} databaseUrl @returns {Promise<number>} in ms */
export async function shortestRoundTrip(databaseUrl) {
  const session = await openSession(databaseUrl)
  try {
    const times_ms = []
    for (let i = 0; i < TRIES; i++) {
      const start_ms = performance.now()
      await session.query('')
      times_ms.push(performance.now() - start_ms)
    }
    return Math.min(...times_ms)
  } finally {
    await session.end()
  }
}
