import { once } from 'node:events'
import net from 'node:net'

/** A way to the API as over a long and bad line: what goes through comes later, in order, or not at all. */
const ONE_WAY_MS = 150

/** One piece in so many is lost and comes when TCP sends it again: behind the others nothing overtakes it. */
const LOST_ONE_IN = 50
const RETRANSMIT_MS = 1000

/** And after one in so many the line is dead. */
const CUT_ONE_IN = 500

const target = process.argv[2]
const { hostname, port, pathname } = new URL(target)
let pieces = 0

const server = net.createServer((client) => {
  const api = net.connect({ host: hostname, port: Number(port) })
  const cut = () => {
    client.resetAndDestroy()
    api.resetAndDestroy()
  }
  carry(client, api, cut)
  carry(api, client, cut)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const address = /** @type {net.AddressInfo} */ (server.address())
process.send?.({ url: `http://127.0.0.1:${address.port}${pathname}` })
process.on('disconnect', () => process.exit())

/** @param {net.Socket} from @param {net.Socket} to @param {() => void} cut */
function carry(from, to, cut) {
  /** @type {(() => void)[]} */
  const onTheWay = []
  let arrivesAt_ms = 0
  from.setNoDelay(true)
  from.on('data', (piece) => {
    pieces++
    if (pieces % CUT_ONE_IN === 0) return cut()
    later(pieces % LOST_ONE_IN === 0 ? ONE_WAY_MS + RETRANSMIT_MS : ONE_WAY_MS, () => to.write(piece))
  })
  from.on('close', () => later(ONE_WAY_MS, () => to.destroy()))
  from.on('error', () => {})

  /** @param {number} delay_ms @param {() => void} arrive */
  function later(delay_ms, arrive) {
    arrivesAt_ms = Math.max(arrivesAt_ms, performance.now() + delay_ms)
    // Two timers may change places by a millisecond; what is on the way may not.
    onTheWay.push(arrive)
    setTimeout(() => onTheWay.shift()?.(), arrivesAt_ms - performance.now())
  }
}
