import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { NotApplied } from '../../load/command/errors.js'
import { isListening, onFreePorts } from '../../load/system/ports.js'
import { startService } from '../../load/system/service.js'
import { asksForTls } from './pgbouncer.js'
import { atPort, openSession } from './session.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Between } from './means.js'
 */

const PROXY = fileURLToPath(new URL('distance-proxy.js', import.meta.url))
const STOP_GRACE_MS = 500

/** A busy machine makes most of them late. */
const LOOKS = 25

/**
 * Puts a proxy between this place and its Postgres which delays what goes through, so that a round trip takes longer.
 *
 * @param {Place} place @param {number} roundTrip_ms
 * @returns {Promise<Between>}
 * @throws {NotApplied} where the API is on another host, or Postgres is asked for a certificate in its own name
 */
export async function putDistance(place, roundTrip_ms) {
  const { databaseUrl, env, logFile } = place
  if (place.host) {
    throw new NotApplied('the way is made longer beside the lab, on loopback: expected the API there, too, got --ssh')
  }
  if (asksForTls(databaseUrl, env)) {
    throw new NotApplied(
      'the proxy has no certificate of the database: expected a Postgres without TLS, got verify-full',
    )
  }
  const { host, port: serverPort } = new pg.Client({ connectionString: databaseUrl })
  const { service, ports } = await onFreePorts(1, ([port]) => {
    const command = [process.execPath, PROXY, ...[port, roundTrip_ms, host, serverPort].map(String)]
    return startService('the proxy to a distant Postgres', command, {
      cores: null,
      env,
      logFile,
      isReady: () => isListening(port),
      stopGrace_ms: STOP_GRACE_MS,
    })
  })
  return { place: { ...place, databaseUrl: atPort(databaseUrl, ports[0]) }, settings: {}, end: service.stop }
}

/** The shortest round trip of some statements that ask nothing. @param {string} databaseUrl @returns {Promise<number>} in ms */
export async function shortestRoundTrip(databaseUrl) {
  const session = await openSession(databaseUrl)
  try {
    let shortest_ms = Number.POSITIVE_INFINITY
    for (let look = 0; look < LOOKS; look++) {
      const start_ms = performance.now()
      await session.query('')
      shortest_ms = Math.min(shortest_ms, performance.now() - start_ms)
    }
    return shortest_ms
  } finally {
    await session.end()
  }
}
