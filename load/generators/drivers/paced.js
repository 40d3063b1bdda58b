import { createMix } from '../mix.js'
import { Connection } from './connection.js'
import { headOf } from './head.js'
import { pace } from './pacing.js'
import { refuseEntries } from './refuse.js'

/**
 * @import { Target } from './connection.js'
 * @import { Driver } from './index.js'
 */

/**
 * Open loop: requests leave on a schedule over a fixed set of connections, whatever the answers do. Where every
 * connection is busy they wait, and the wait counts: latency starts at the intended send time.
 *
 * @type {Driver}
 */
export const paced = {
  name: 'paced',
  loop: 'open',
  version: async () => process.version,
  check: (asked) => refuseEntries('paced', asked),

  async open(load) {
    const mix = createMix(load.mix, load.trial)
    const head = headOf(load.url, mix, { last: load.fresh_connections })
    const addresses = load.local_addresses ?? [undefined]
    const connections = Array.from({ length: load.connections }, (_, i) => {
      const localAddress = addresses[i % addresses.length]
      return new Connection({ ...targetOf(load.url), localAddress }, { bodiless: mix.method === 'HEAD' })
    })
    if (!load.fresh_connections) await Promise.all(connections.map((one) => one.open(load.timeout_s * 1000)))
    let requests = 0
    return {
      async run(phase) {
        const offset = requests
        const write = (/** @type {Connection} */ connection, /** @type {number} */ i, /** @type {any} */ done) => {
          const body = mix.body(offset + i)
          connection.send(head(body), body, done)
        }
        const traffic = await pace(connections, write, load, phase)
        requests += traffic.planned
        return traffic
      },
      close: async () => {
        for (const connection of connections) connection.destroy()
      },
    }
  },
}

/** @param {string} url @returns {Target} */
function targetOf(url) {
  const { protocol, hostname, port } = new URL(url)
  const secure = protocol === 'https:'
  return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port) || (secure ? 443 : 80), secure }
}
