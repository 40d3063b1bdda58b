import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { connect, end, roundTrip_ms } from '../../sql/connection.js'
import { NotApplied } from '../command/errors.js'
import { startListening } from './listening.js'

/**
 * @import { Host } from './ssh/host.js'
 * @typedef {{ databaseUrl: string, env: NodeJS.ProcessEnv, logFile: string, host?: Host }} Place of the API; env: also read by pg
 */

/** The cell that lengthens the path to the database, by ms added to a round trip, and the setting that holds the round trip (ms). */
export const ADDED_RTT = 'DB_RTT_MS'
export const ROUND_TRIP = 'DB_ROUND_TRIP_MS'

const PROXY = fileURLToPath(new URL('distance-proxy.js', import.meta.url))

/**
 * Starts a program between the API and its Postgres, on a free loopback port.
 * @param {string} name for messages @param {Place} place @param {(port: number) => string[]} commandOn
 * @returns {Promise<{ databaseUrl: string, end: () => Promise<void> }>} databaseUrl: through the program
 * @throws {NotApplied} if the API is on another host
 */
export async function startBetween(name, { databaseUrl, env, logFile, host }, commandOn) {
  if (host) throw new NotApplied(`${name} runs beside the lab, on loopback: expected the API there, too, got --ssh`)
  const where = { cores: null, env, logFile }
  const { service, ports } = await startListening(name, where, 1, ([port]) => commandOn(port))
  return { databaseUrl: atPort(databaseUrl, ports[0]), end: service.stop }
}

/** Redirects a database URL to a loopback port. @param {string} databaseUrl @param {number} port */
export function atPort(databaseUrl, port) {
  const url = new URL(databaseUrl)
  // A host parameter would override the URL's own host; and a URL without a host takes no port.
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}

/** Whether pg would use TLS; pg also reads the environment. @param {Pick<Place, 'databaseUrl' | 'env'>} place */
export function asksForTls({ databaseUrl, env }) {
  return (new URL(databaseUrl).searchParams.get('sslmode') ?? env.PGSSLMODE) === 'verify-full'
}

/**
 * Puts a delaying proxy between this place and its Postgres, so that a round trip takes longer.
 * @param {Place} place @param {number} roundTrip_ms
 * @throws {NotApplied} if the API is on another host, or Postgres has to present a certificate in its own name
 */
export async function putDistance(place, roundTrip_ms) {
  if (asksForTls(place)) throw new NotApplied('the proxy: expected a Postgres without TLS, got verify-full')
  const { host, port: serverPort } = new pg.Client({ connectionString: place.databaseUrl })
  return startBetween('the proxy to a distant Postgres', place, (port) => {
    return [process.execPath, PROXY, ...[port, roundTrip_ms, host, serverPort].map(String)]
  })
}

/** The shortest round trip of several empty statements, in ms. @param {string} databaseUrl */
export async function shortestRoundTrip(databaseUrl) {
  const client = await connect(databaseUrl)
  try {
    return await roundTrip_ms(client)
  } finally {
    await end(client)
  }
}
