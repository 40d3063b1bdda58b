import http from 'node:http'
import { json } from 'node:stream/consumers'
import { seededRandom } from '../../../load/system/random.js'
import { answerOf } from './endpoints.js'

/** @import { Endpoint } from './endpoints.js' */

/**
 * The endpoints, in one process: each is a server that answers after a delay and has a limited number of slots, for which
 * requests wait. On the admin port /reset takes the seed of a trial and /begin says that it begins; each answer there tells how many
 * requests each endpoint got in every tenth of a second since, how many were errors, and how many waited.
 *
 * @type {{ endpoints: Endpoint[], ports: number[], adminPort: number, slots: number }}
 */
const { endpoints, ports, adminPort, slots } = JSON.parse(process.argv[2])

const BIN_MS = 100
const BODY = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' })
const KEEP_ALIVE_MS = 120_000

/** began_ms: NaN before a trial begins. */
let trial = { began_ms: Number.NaN, from_s: 0, to_s: 0 }
let all = fresh(0)

for (const [i, endpoint] of endpoints.entries()) {
  const server = http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (req, res) => {
    if (req.url === '/health') return void res.writeHead(isFailing() ? 503 : 200, { 'Content-Length': 0 }).end()
    req.resume()
    const own = all[i]
    if (own.busy < slots) return serve(own, res)
    count(own.queued)
    own.waiting.push(res)
  })
  server.listen(ports[i], '127.0.0.1')

  /** @param {typeof all[number]} own @param {http.ServerResponse} res */
  function serve(own, res) {
    own.busy++
    const { status, latency_ms } = answerOf(endpoint, { failing: isFailing(), random: own.random })
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

  function isFailing() {
    const at_s = sinceBegin_ms() / 1000
    return endpoint.fails && at_s >= trial.from_s && at_s < trial.to_s
  }
}

http
  .createServer(async (req, res) => {
    if (req.url === '/reset') {
      trial = { began_ms: Number.NaN, from_s: 0, to_s: 0 }
      all = fresh(/** @type {any} */ (await json(req)).seed)
    }
    if (req.url === '/begin') {
      trial = { .../** @type {any} */ (await json(req)), began_ms: performance.now() }
      for (const own of all) Object.assign(own, { requests: [], errors: [], queued: [] })
    }
    const counts = all.map(({ requests, errors, queued }) => {
      return { requests: filled(requests), errors: filled(errors), queued: filled(queued) }
    })
    res.end(JSON.stringify({ bin_ms: BIN_MS, endpoints: counts }))
  })
  .listen(adminPort, '127.0.0.1')

/** The state of each endpoint, with its counts by bin. @param {number} seed */
function fresh(seed) {
  return endpoints.map((_, i) => ({
    busy: 0,
    waiting: /** @type {http.ServerResponse[]} */ ([]),
    random: seededRandom(seed * 1009 + i),
    .../** @type {Record<'requests' | 'errors' | 'queued', number[]>} */ ({ requests: [], errors: [], queued: [] }),
  }))
}

function sinceBegin_ms() {
  return performance.now() - trial.began_ms
}

/** One more in the present bin. @param {number[]} bins */
function count(bins) {
  const bin = Math.floor(sinceBegin_ms() / BIN_MS)
  if (bin >= 0) bins[bin] = (bins[bin] ?? 0) + 1
}

/** @param {number[]} counts with holes */
function filled(counts) {
  return Array.from(counts, (value) => value ?? 0)
}
