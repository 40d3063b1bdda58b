import net from 'node:net'
import { ServiceEnded } from '../../load/command/errors.js'
import { freePorts } from '../../load/system/ports.js'

const START_TRIES = 3

/**
 * A service on ports that are free. One that somebody took in the meantime ends it: then it is started on others.
 *
 * @template Service
 * @param {number} count
 * @param {(ports: number[]) => Promise<Service>} startOn
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
export function isListening(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => resolve(false))
    socket.on('connect', () => {
      socket.destroy()
      resolve(true)
    })
  })
}
