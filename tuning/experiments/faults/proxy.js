import http from 'node:http'
import net from 'node:net'
import { createLine } from '../../../load/system/line.js'

/** A proxy in front of the API, as a process: `proxy.js KIND URL PORT`. @type {Record<string, (target: URL) => net.Server>} */
const PROXIES = { limiter, far }

const [kind, target, listenOn] = process.argv.slice(2)
PROXIES[kind](new URL(target)).listen(Number(listenOn), '127.0.0.1')

/** Answers 429 to requests beyond its rate: the generic cell rate algorithm (ITU-T I.371, annex A). @param {URL} url */
function limiter(url) {
  const LIMIT_RPS = 400
  // After a pause, as many requests as the rate allows in this time may pass at once.
  const BURST_MS = 50
  const agent = new http.Agent({ keepAlive: true })
  let due_ms = 0
  const isAllowed = () => {
    const now_ms = performance.now()
    if (due_ms > now_ms + BURST_MS) return false
    due_ms = Math.max(due_ms, now_ms) + 1000 / LIMIT_RPS
    return true
  }
  return http.createServer({ keepAliveTimeout: 65_000 }, (req, res) => {
    if (!isAllowed()) {
      req.resume()
      res.writeHead(429, { 'Retry-After': '1', 'Content-Length': 0 }).end()
      return
    }
    const onward = http.request(url, { method: req.method, headers: req.headers, agent }, (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(res)
    })
    onward.on('error', () => res.destroy())
    req.pipe(onward)
  })
}

/** A long and lossy line: each piece arrives late but in order, or not at all. @param {URL} url */
function far({ hostname, port }) {
  const ONE_WAY_MS = 150
  // A lost piece arrives when TCP retransmits it, and delays the pieces behind it.
  const LOST_ONE_IN = 50
  const RETRANSMIT_MS = 1000
  const CUT_ONE_IN = 500
  let pieces = 0

  return net.createServer((client) => {
    const api = net.connect({ host: hostname, port: Number(port) })
    const cut = () => {
      client.resetAndDestroy()
      api.resetAndDestroy()
    }
    carry(client, api, cut)
    carry(api, client, cut)
  })

  /** @param {net.Socket} from @param {net.Socket} to @param {() => void} cut */
  function carry(from, to, cut) {
    const later = createLine()
    from.setNoDelay(true)
    from.on('data', (piece) => {
      pieces++
      if (pieces % CUT_ONE_IN === 0) return cut()
      later(pieces % LOST_ONE_IN === 0 ? ONE_WAY_MS + RETRANSMIT_MS : ONE_WAY_MS, () => to.write(piece))
    })
    from.on('close', () => later(ONE_WAY_MS, () => to.destroy()))
    from.on('error', () => {})
  }
}
