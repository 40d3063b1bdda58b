import { randomAt } from '../../system/random.js'
import { createMix } from '../mix.js'
import { recordingOf } from '../replay.js'
import { Connection } from './connection.js'
import { takeFrom } from './errors.js'
import { headsOf } from './head.js'
import { pace } from './pacing.js'

/**
 * @import { Done } from './connection.js'
 * @import { Driver } from './index.js'
 */

/** Stays below the smallest common accept queue (128): a SYN that overflows the queue is retried only after a second. */
export const OPENED_AT_ONCE = 64

/**
 * Open loop: requests are sent on a schedule over a fixed set of connections, however slow the answers. When every
 * connection is busy, requests wait, and the wait counts: latency starts at the intended send time.
 * @type {Driver}
 */
export const paced = {
  name: 'paced',
  loop: 'open',
  version: async () => process.version,
  async open(load) {
    const { mix, url, fresh_connections, local_addresses: addresses = [undefined] } = load
    const request = createMix(mix, load.trial)
    const recording = load.arrivals === 'recorded' ? recordingOf(mix) : undefined
    const head = headsOf(url, fresh_connections)
    const { protocol, hostname, port } = new URL(url)
    const secure = protocol === 'https:'
    const target = { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (secure ? 443 : 80), secure }
    const connections = Array.from({ length: load.connections }, (_, i) => {
      const localAddress = addresses[i % addresses.length]
      return new Connection({ ...target, localAddress, isFresh: fresh_connections })
    })
    if (!fresh_connections && !load.on_demand) await openAll(connections, load.timeout_s * 1000)
    let requests = 0
    return {
      async run(phase) {
        // Each phase plays the log from its start.
        const offset = recording ? 0 : requests
        const write = (/** @type {Connection} */ connection, /** @type {number} */ i, /** @type {Done} */ done) => {
          const next = request(offset + i)
          const answered = next.take
            ? (/** @type {Parameters<Done>} */ ...[status, error, body]) =>
                done(status, error ?? takeFrom(next, status, body))
            : done
          connection.send(head(next), next.body, answered, {
            bodiless: next.method === 'HEAD',
            keepsBody: next.take !== undefined,
          })
          return next.name
        }
        // Each phase has its own arrival times.
        const seed =
          load.arrivals === 'poisson' ? Math.floor(randomAt(mix.seed + load.trial, requests) * 2 ** 32) : undefined
        const nameOf = (/** @type {number} */ i) => request(offset + i).name
        const traffic = await pace(
          connections,
          write,
          { ...load, seed, recording, entries: mix.entries, nameOf },
          phase,
        )
        requests += traffic.planned
        return traffic
      },
      close: async () => {
        for (const connection of connections) connection.destroy()
      },
    }
  },
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
