import { isListening, onFreePorts } from './ports.js'
import { startService } from './service.js'

const STOP_GRACE_MS = 2000

/**
 * Starts a program on free loopback ports. It is ready when it listens on all of them.
 * @param {string} name for messages @param {{ env: NodeJS.ProcessEnv, logFile: string, cores: string | null }} where cores: null: those of the lab
 * @param {number} count of ports @param {(ports: number[]) => string[]} commandOn
 */
export function startListening(name, { env, logFile, cores }, count, commandOn) {
  return onFreePorts(count, (ports) => {
    const isReady = async () => (await Promise.all(ports.map(isListening))).every(Boolean)
    return startService(name, commandOn(ports), { env, logFile, cores, isReady, stopGrace_ms: STOP_GRACE_MS })
  })
}
