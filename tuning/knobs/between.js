import { NotApplied } from '../../load/command/errors.js'
import { isListening, onFreePorts } from '../../load/system/ports.js'
import { startService } from '../../load/system/service.js'

/** @import { Place } from '../../load/run/site.js' */

const STOP_GRACE_MS = 2000

/**
 * Starts a program between the API and its Postgres, on a free port of loopback.
 *
 * @param {string} name for messages
 * @param {Place} place
 * @param {(port: number) => string[] | Promise<string[]>} commandOn
 * @returns {Promise<{ databaseUrl: string, end: () => Promise<void> }>} databaseUrl: through the program
 * @throws {NotApplied} where the API is on another host
 */
export async function startBetween(name, { databaseUrl, env, logFile, host }, commandOn) {
  if (host) throw new NotApplied(`${name} runs beside the lab, on loopback: expected the API there, too, got --ssh`)
  const { service, ports } = await onFreePorts(1, async ([port]) => {
    const isReady = () => isListening(port)
    return startService(name, await commandOn(port), {
      cores: null,
      env,
      logFile,
      isReady,
      stopGrace_ms: STOP_GRACE_MS,
    })
  })
  return { databaseUrl: atPort(databaseUrl, ports[0]), end: service.stop }
}

/** The same database behind a port of loopback. @param {string} databaseUrl @param {number} port */
export function atPort(databaseUrl, port) {
  const url = new URL(databaseUrl)
  // A parameter would win over the host of the URL; and without a host, a URL takes no port.
  url.searchParams.delete('host')
  url.hostname = '127.0.0.1'
  url.port = String(port)
  return url.href
}

/** Whether pg would use TLS, for which it also looks into the environment. @param {Pick<Place, 'databaseUrl' | 'env'>} place */
export function asksForTls({ databaseUrl, env }) {
  return (new URL(databaseUrl).searchParams.get('sslmode') ?? env.PGSSLMODE) === 'verify-full'
}
