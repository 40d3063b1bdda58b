import { randomInt } from 'node:crypto'
import getPort from 'get-port'

/** Below the range from which systems take ports for connections: under load those do not stay free for long. */
const RANGE = { from: 12_000, to: 32_000 }
const DRAWS = 20

/** Ports of loopback on which nobody listens. @param {number} count @returns {Promise<number[]>} each another one */
export async function freePorts(count) {
  /** @type {number[]} */
  const ports = []
  while (ports.length < count) {
    const candidates = Array.from({ length: DRAWS }, () => randomInt(RANGE.from, RANGE.to))
    ports.push(await getPort({ host: '127.0.0.1', port: candidates, exclude: ports }))
  }
  return ports
}
