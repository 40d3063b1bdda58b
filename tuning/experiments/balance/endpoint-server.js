import http from 'node:http'
import { seededRandom } from '../../../load/system/random.js'
import { answerOf } from './endpoints.js'

/** @import { Endpoint } from './endpoints.js' */

/**
 * The endpoints, as a process: each a server of its own that answers after its time, and has so many places; who finds all
 * of them taken waits. On the admin port it is told the seed of a trial and when it begins, and tells how many requests each
 * endpoint got in every tenth of a second since, how many were errors, and how many had to wait.
 *
 * @type {ServerOptions}
 *
 * @typedef {object} ServerOptions
 * @property {Endpoint[]} endpoints
 * @property {number[]} ports of each
 * @property {number} adminPort
 * @property {number} slots
 */
const { endpoints, ports, adminPort, slots } = JSON.parse(process.argv[2])

export const BIN_MS = 100
const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' })
const KEEP_ALIVE_MS = 120_000

/** Since the trial began. @type {{ began_ms: number | null, from_s: number, to_s: number }} */
let trial = { began_ms: null, from_s: 0, to_s: 0 }
let all = fresh(0)

for (const [i, endpoint] of endpoints.entries()) {
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    const failing = endpoint.fails && isFailing()
    if (req.url === '/health') return void res.writeHead(failing ? 503 : 200, { 'Content-Length': 0 }).end()
    req.resume()
    const own = all[i]
    if (own.busy < slots) return serve(own, res)
    count(own.queued)
    own.waiting.push(res)
  })
  server.listen(ports[i], '127.0.0.1')

  /** @param {Own} own @param {http.ServerResponse} res */
  function serve(own, res) {
    own.busy++
    const failing = endpoint.fails && isFailing()
    const { status, latency_ms } = answerOf(endpoint, { failing, random: own.random })
    count(own.requests)
    if (status >= 400) count(own.errors)
    const answer = () => {
      res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': BODY.length }).end(BODY)
      own.busy--
      const next = own.waiting.shift()
      if (next) serve(own, next)
    }
    if (latency_ms > 0) setTimeout(answer, latency_ms)
    else answer()
  }
}

http
  .createServer(async (req, res) => {
    if (req.url === '/reset') {
      trial = { began_ms: null, from_s: 0, to_s: 0 }
      all = fresh(JSON.parse(await textOf(req)).seed)
    }
    if (req.url === '/begin') {
      trial = { ...JSON.parse(await textOf(req)), began_ms: performance.now() }
      for (const own of all) Object.assign(own, { requests: [], errors: [], queued: [] })
    }
    const counts = all.map(({ requests, errors, queued }) => {
      return { requests: filled(requests), errors: filled(errors), queued: filled(queued) }
    })
    res.end(JSON.stringify({ bin_ms: BIN_MS, endpoints: counts }))
  })
  .listen(adminPort, '127.0.0.1')

/**
 * @typedef {object} Own state of an endpoint
 * @property {number} busy
 * @property {http.ServerResponse[]} waiting
 * @property {() => number} random
 * @property {number[]} requests in each bin
 * @property {number[]} errors
 * @property {number[]} queued those that found all places taken
 */

/** @param {number} seed @returns {Own[]} */
function fresh(seed) {
  return endpoints.map((_, i) => {
    return { busy: 0, waiting: [], random: seededRandom(seed * 1009 + i), requests: [], errors: [], queued: [] }
  })
}

function isFailing() {
  if (trial.began_ms === null) return false
  const at_s = (performance.now() - trial.began_ms) / 1000
  return at_s >= trial.from_s && at_s < trial.to_s
}

/** One more in the bin of now. @param {number[]} bins */
function count(bins) {
  if (trial.began_ms === null) return
  const bin = Math.floor((performance.now() - trial.began_ms) / BIN_MS)
  bins[bin] = (bins[bin] ?? 0) + 1
}

/** @param {number[]} counts with holes */
function filled(counts) {
  return Array.from(counts, (value) => value ?? 0)
}

/** @param {http.IncomingMessage} req */
async function textOf(req) {
  let text = ''
  for await (const chunk of req.setEncoding('utf8')) text += chunk
  return text
}
