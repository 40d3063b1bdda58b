import { once } from 'node:events'
import net from 'node:net'
import { freePort } from '../../sql/free-port.js'
import { ServiceEnded } from '../command/errors.js'

const START_TRIES = 3

/** Returns distinct loopback ports on which nobody listens. @param {number} count */
export async function freePorts(count) {
  /** @type {number[]} */
  const ports = []
  while (ports.length < count) ports.push(await freePort(ports))
  return ports
}

/**
 * Starts a service on free ports. If it ends, as when another process has just taken one of them, starts it on others.
 * @template Service @param {number} count @param {(ports: number[]) => Promise<Service>} startOn
 */
export async function onFreePorts(count, startOn) {
  for (let left = START_TRIES; ; left--) {
    const ports = await freePorts(count)
    try {
      return { service: await startOn(ports), ports }
    } catch (error) {
      if (left === 1 || !(error instanceof ServiceEnded)) throw error
    }
  }
}

/** @param {number} port @returns {Promise<boolean>} */
export async function isListening(port) {
  const socket = net.connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').catch(() => null)
  socket.destroy()
  return connected !== null
}
