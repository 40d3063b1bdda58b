import { createMix } from '../mix.js'
import { Connection } from './connection.js'
import { takeFrom } from './errors.js'
import { headsOf } from './head.js'

/**
 * @import { Done } from './connection.js'
 * @import { Load } from './index.js'
 */

/** Stays below the smallest common accept queue (128): a SYN that overflows the queue is retried only after a second. */
export const OPENED_AT_ONCE = 64

/**
 * The connections of a load, opened ahead of its requests unless it wants them later, and the requests that they send.
 * @param {Load} load @returns {Promise<Sender>}
 * @typedef {object} Sender
 * @property {Connection[]} connections
 * @property {(i: number) => string} nameOf entry of the mix that request i is of
 * @property {(connection: Connection, i: number, done: Done) => string} send sends request i, and returns the name of its entry; see
 *   Connection
 * @property {() => Promise<void>} close
 */
export async function openSender(load) {
  const { mix, url, fresh_connections, local_addresses: addresses = [undefined] } = load
  const requestAt = createMix(mix, load.trial)
  const head = headsOf(url, fresh_connections)
  const { protocol, hostname, port } = new URL(url)
  const secure = protocol === 'https:'
  const target = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (secure ? 443 : 80), secure }
  const connections = Array.from({ length: load.connections }, (_, i) => {
    const localAddress = addresses[i % addresses.length]
    return new Connection({ ...target, localAddress, isFresh: fresh_connections })
  })
  if (!fresh_connections && !load.on_demand) await openAll(connections, load.timeout_s * 1000)
  return {
    connections,
    nameOf: (i) => requestAt(i).name,
    send(connection, i, done) {
      const next = requestAt(i)
      const answered = next.take
        ? (/** @type {Parameters<Done>} */ ...[status, error, body]) =>
            done(status, error ?? takeFrom(next, status, body))
        : done
      const response = { bodiless: next.method === 'HEAD', keepsBody: next.take !== undefined }
      connection.send(head(next), next.body, answered, response)
      return next.name
    },
    async close() {
      for (const connection of connections) connection.destroy()
    },
  }
}

/** Opens as many connections as possible within the timeout; the rest are opened on demand. @param {Connection[]} connections @param {number} timeout_ms */
async function openAll(connections, timeout_ms) {
  const end_ms = performance.now() + timeout_ms
  const left = connections.values()
  const openSome = async () => {
    for (const connection of left) {
      const left_ms = end_ms - performance.now()
      if (left_ms <= 0) return
      await connection.open(left_ms)
    }
  }
  await Promise.all(Array.from({ length: OPENED_AT_ONCE }, openSome))
}
