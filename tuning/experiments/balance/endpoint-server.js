import http from 'node:http'
import { json } from 'node:stream/consumers'
import { seededRandom } from '../../../load/system/random.js'
import { answerOf } from './endpoints.js'

/** @import { Endpoint } from './endpoints.js' */

/**
 * The endpoints, in one process: each is a server that answers after a delay and has a limited number of slots, for which
 * requests wait. On the admin port (the first port), /begin takes the seed of a trial and the window in which endpoints fail.
 * Responses there contain the counts of each endpoint since then, in bins of a tenth of a second.
 * @type {{ endpoints: Endpoint[], ports: number[], slots: number }}
 */
const { endpoints, ports, slots } = JSON.parse(process.argv[2])

const BIN_MS = 100
const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' })
const KEEP_ALIVE_MS = 120_000

/** Before a trial begins, nothing fails and nothing is counted. */
let trial = { began_ms: Number.NaN, from_s: 0, to_s: 0 }
const states = endpoints.map((endpoint, i) => {
  const waiting = /** @type {http.ServerResponse[]} */ ([])
  return { endpoint, busy: 0, waiting, random: seededRandom(i), counts: noCounts() }
})

for (const i of endpoints.keys()) {
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const own = states[i]
    if (req.url === '/health') return void res.writeHead(isFailing(own) ? 503 : 200, { 'Content-Length': 0 }).end()
    req.resume()
    if (own.busy < slots) return serve(own, res)
    count(own.counts.queued)
    own.waiting.push(res)
  })
  server.listen(ports[i + 1], '127.0.0.1')
}

const admin = http.createServer(async (req, res) => {
  if (req.url === '/begin') {
    const { seed, ...window } = /** @type {any} */ (await json(req))
    trial = { ...window, began_ms: performance.now() }
    for (const [i, own] of states.entries()) {
      Object.assign(own, { random: seededRandom(seed * 1009 + i), counts: noCounts() })
    }
  }
  res.end(JSON.stringify({ bin_ms: BIN_MS, endpoints: states.map(({ counts }) => counts) }))
})
admin.listen(ports[0], '127.0.0.1')

/** Empty counts, by bin. @returns {Record<'requests' | 'errors' | 'queued', number[]>} */
function noCounts() {
  return { requests: [], errors: [], queued: [] }
}

/** @param {typeof states[number]} own @param {http.ServerResponse} res */
function serve(own, res) {
  own.busy++
  const { status, latency_ms } = answerOf(own.endpoint, { failing: isFailing(own), random: own.random })
  count(own.counts.requests)
  if (status >= 400) count(own.counts.errors)
  const answer = () => {
    res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': BODY.length }).end(BODY)
    own.busy--
    const next = own.waiting.shift()
    if (next) serve(own, next)
  }
  if (latency_ms > 0) setTimeout(answer, latency_ms)
  else answer()
}

/** @param {typeof states[number]} own */
function isFailing({ endpoint }) {
  const at_s = (performance.now() - trial.began_ms) / 1000
  return endpoint.fails && at_s >= trial.from_s && at_s < trial.to_s
}

/** Adds one to the current bin. @param {number[]} bins */
function count(bins) {
  const bin = Math.floor((performance.now() - trial.began_ms) / BIN_MS)
  while (bins.length <= bin) bins.push(0)
  if (bin >= 0) bins[bin]++
}
