import { once } from 'node:events'
import http from 'node:http'

/** @import { AddressInfo } from 'node:net' */

/** A reverse proxy that lets so many requests through, and answers the rest with 429. A process of its own. */
const LIMIT_RPS = 400

/** Let through at once after a pause. */
const BURST = 20

const target = process.argv[2]
const agent = new http.Agent({ keepAlive: true })
let tokens = BURST
let filledAt_ms = performance.now()

const server = http.createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
  if (!lets()) {
    req.resume()
    res.writeHead(429, { 'Retry-After': '1', 'Content-Length': 0 }).end()
    return
  }
  const onward = http.request(target, { method: req.method, headers: req.headers, agent }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers)
    answer.pipe(res)
  })
  onward.on('error', () => res.destroy())
  req.pipe(onward)
})
server.listen(0, '127.0.0.1')
await once(server, 'listening')
const { port } = /** @type {AddressInfo} */ (server.address())
process.send?.({ url: `http://127.0.0.1:${port}${new URL(target).pathname}` })
process.on('disconnect', () => process.exit())

/** A bucket of tokens. */
function lets() {
  const now_ms = performance.now()
  tokens = Math.min(BURST, tokens + ((now_ms - filledAt_ms) / 1000) * LIMIT_RPS)
  filledAt_ms = now_ms
  if (tokens < 1) return false
  tokens--
  return true
}
