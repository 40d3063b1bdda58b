import { once } from 'node:events'
import net from 'node:net'
import { freePort } from '../../sql/free-port.js'

/** Returns distinct loopback ports on which nobody listens. @param {number} count */
export async function freePorts(count) {
  /** @type {number[]} */
  const ports = []
  while (ports.length < count) ports.push(await freePort(ports))
  return ports
}

/** @param {number} port @returns {Promise<boolean>} */
export async function isListening(port) {
  const socket = net.connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').catch(() => null)
  socket.destroy()
  return connected !== null
}
