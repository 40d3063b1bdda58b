import { ServiceEnded } from '../command/errors.js'
import { freePorts, isListening } from './ports.js'
import { startService } from './service.js'

const START_TRIES = 3
const STOP_GRACE_MS = 2000

/**
 * Starts a program on free loopback ports. It is ready when it listens on all of them. If it ends, as when another process has just
 * taken one of them, starts it on others.
 * @param {string} name for messages @param {{ env: NodeJS.ProcessEnv, logFile: string, cores: string | null }} where cores: null: those of the lab
 * @param {number} count of ports @param {(ports: number[]) => string[]} commandOn
 */
export async function startListening(name, { env, logFile, cores }, count, commandOn) {
  for (let left = START_TRIES; ; left--) {
    const ports = await freePorts(count)
    const isReady = async () => (await Promise.all(ports.map(isListening))).every(Boolean)
    const how = { env, logFile, cores, isReady, stopGrace_ms: STOP_GRACE_MS }
    try {
      return { service: await startService(name, commandOn(ports), how), ports }
    } catch (error) {
      if (left === 1 || !(error instanceof ServiceEnded)) throw error
    }
  }
}
