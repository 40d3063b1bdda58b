import { randomAt } from '../../system/random.js'
import { recordingOf } from '../replay.js'
import { pace } from './pacing.js'
import { totalOf } from './recorder.js'
import { openSender } from './sender.js'

/**
 * @import { Connection, Done } from './connection.js'
 * @import { Driver } from './index.js'
 */

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
    const { mix } = load
    const recording = load.arrivals === 'recorded' ? recordingOf(mix) : undefined
    const sender = await openSender(load)
    const closings = () => totalOf(sender.connections, (connection) => connection.closings)
    let requests = 0
    return {
      async run(phase) {
        // Each phase plays the log from its start.
        const offset = recording ? 0 : requests
        const write = (/** @type {Connection} */ connection, /** @type {number} */ i, /** @type {Done} */ done) =>
          sender.send(connection, offset + i, done)
        // Each phase has its own arrival times.
        const seed =
          load.arrivals === 'poisson' ? Math.floor(randomAt(mix.seed + load.trial, requests) * 2 ** 32) : undefined
        const nameOf = (/** @type {number} */ i) => sender.nameOf(offset + i)
        const asked = { ...load, seed, recording, entries: mix.entries, nameOf }
        const before = closings()
        const traffic = await pace(sender.connections, write, asked, phase)
        requests += traffic.planned
        return { ...traffic, closings: closings() - before }
      },
      close: sender.close,
    }
  },
}
