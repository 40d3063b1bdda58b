import { randomInt } from 'node:crypto'
import getPort from 'get-port'

/** Range below the ephemeral ports: the system hands those to whoever asks for any port, also one that a server will want back. */
const RANGE = { from: 12_000, to: 32_000 }
const DRAWS = 20

/** A loopback port on which nobody listens. @param {number[]} [exclude] @returns {Promise<number>} */
export function freePort(exclude = []) {
  const port = Array.from({ length: DRAWS }, () => randomInt(RANGE.from, RANGE.to))
  return getPort({ host: '127.0.0.1', port, exclude })
}
