import http from 'node:http'
import { pipeline } from 'node:stream'
import { BALANCERS } from './balancers.js'

/** @import { Parameters, Strategy } from './balancers.js' */

/**
 * A reverse proxy, as a process: round robin or the published adaptive algorithm. Bodies are streamed in both directions, and
 * connections to the endpoints are kept alive.
 * @typedef {{ name: string, port: number }} Endpoint
 * @type {{ strategy: Strategy, endpoints: Endpoint[], parameters: Parameters, port: number }}
 */
const { strategy, endpoints, parameters, port } = JSON.parse(process.argv[2])

const TIMEOUT_MS = 10_000
const KEEP_ALIVE_MS = 120_000

/** Headers that concern one connection only (RFC 9110, 7.6.1) and are not forwarded. */
const HOP_BY_HOP = [
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]

const agent = new http.Agent({ keepAlive: true, scheduling: 'fifo' })
const balancer = BALANCERS[strategy](endpoints.length, parameters)

http.createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, forward).listen(port, '127.0.0.1')

/** @param {http.IncomingMessage} req @param {http.ServerResponse} res */
function forward(req, res) {
  const endpoint = balancer.choose()
  const { name, port } = endpoints[endpoint]
  const began_ms = performance.now()
  let isObserved = false
  const observe = (/** @type {number} */ status) => {
    const latency_ms = performance.now() - began_ms
    if (!isObserved) balancer.answered({ endpoint, latency_ms, status }, req.method)
    isObserved = true
    return { 'X-Selected-Route': name, 'X-Response-Latency-Milliseconds': String(Math.round(latency_ms)) }
  }
  const framing = req.headers['transfer-encoding'] === undefined ? {} : { 'transfer-encoding': 'chunked' }
  const headers = { ...endToEnd(req.headers), ...framing, host: `127.0.0.1:${port}` }
  const upstream = http.request({ agent, host: '127.0.0.1', port, method: req.method, path: req.url, headers })
  upstream.setTimeout(TIMEOUT_MS, () => upstream.destroy(Object.assign(new Error('timeout'), { code: 'ETIMEDOUT' })))
  upstream.on('response', (answer) => {
    const status = answer.statusCode ?? 502
    res.writeHead(status, { ...endToEnd(answer.headers), ...observe(status) })
    // If one side disconnects, pipeline closes the other.
    pipeline(answer, res, () => {})
  })
  upstream.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
    if (res.destroyed) return
    const status = error.code === 'ETIMEDOUT' ? 504 : 502
    const route = observe(status)
    if (res.headersSent) return void res.destroy()
    res.writeHead(status, { ...route, 'Content-Length': 0 }).end()
  })
  res.on('close', () => {
    if (!res.writableFinished) upstream.destroy()
  })
  if (req.headers['content-length'] === undefined && req.headers['transfer-encoding'] === undefined) upstream.end()
  else pipeline(req, upstream, () => {})
}

/** @param {http.IncomingHttpHeaders} headers */
function endToEnd(headers) {
  const named = String(headers.connection ?? '').toLowerCase()
  const dropped = [...HOP_BY_HOP, ...named.split(/\s*,\s*/)]
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !dropped.includes(name)))
}
