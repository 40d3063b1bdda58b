import { spawn } from 'node:child_process'
import t from 'tap'
import { isListening } from '../../../load/system/ports.js'
import { PUBLISHED_PARAMETERS } from '../../../tuning/experiments/balance/balancers.js'
import { httpServer, ownPort, refusingUrl } from '../../support/servers.js'
import { until } from '../../support/until.js'

const P = PUBLISHED_PARAMETERS

/** @param {any} t @param {'round-robin' | 'adaptive'} strategy @param {string[]} urls */
async function startProxy(t, strategy, urls) {
  const port = await ownPort()
  const endpoints = urls.map((url, i) => ({ name: `endpoint-${i + 1}`, port: Number(new URL(url).port) }))
  const options = JSON.stringify({ strategy, endpoints, parameters: { ...P, min_samples: 1 }, port })
  const child = spawn(process.execPath, ['tuning/experiments/balance/proxy.js', options], { stdio: 'inherit' })
  t.teardown(() => child.kill())
  const url = `http://127.0.0.1:${port}/`
  await until('the proxy to listen', () => isListening(port))
  return { url }
}

t.test('the proxy passes requests and answers through, and says where they went', async (t) => {
  /** @type {any[]} */
  const seen = []
  const echo = await httpServer(t, (req, res) => {
    seen.push(req.headers)
    res.writeHead(201, { 'X-Own': 'yes', Connection: 'keep-alive, X-Hop', 'X-Hop': 'no' })
    req.pipe(res)
  })
  const { url } = await startProxy(t, 'round-robin', [echo, echo])
  const body = 'x'.repeat(300_000)
  const routes = []
  for (let i = 0; i < 3; i++) {
    const headers = { TE: 'trailers', 'X-Mine': 'yes' }
    const answer = await fetch(url, { method: 'POST', body, headers })
    t.equal(answer.status, 201)
    t.equal(await answer.text(), body, 'the body comes back whole')
    t.match(answer.headers.get('x-response-latency-milliseconds'), /^\d+$/)
    t.equal(answer.headers.get('x-own'), 'yes')
    t.equal(answer.headers.get('x-hop'), null, 'what is between two neighbours stays there')
    routes.push(answer.headers.get('x-selected-route'))
  }
  t.strictSame(routes, ['endpoint-1', 'endpoint-2', 'endpoint-1'])
  t.match(seen[0], { 'x-mine': 'yes', te: undefined, host: new URL(echo).host })
})

t.test('the adaptive proxy leaves an endpoint that nobody answers on', async (t) => {
  const fine = await httpServer(t, (_, res) => void res.end('fine'))
  const { url } = await startProxy(t, 'adaptive', [await refusingUrl(t), fine])
  const statuses = []
  for (let i = 0; i < 20; i++) statuses.push((await fetch(url)).status)
  t.equal(statuses[0], 502, 'the first one is tried')
  t.ok(statuses.filter((status) => status === 200).length >= 15, String(statuses))
})

t.test('an endpoint that breaks off in the middle of an answer is not taken for whole', async (t) => {
  const torn = await httpServer(t, (_, res) => {
    res.writeHead(200, { 'Content-Length': 100 })
    res.write('half')
    setImmediate(() => res.destroy())
  })
  const { url } = await startProxy(t, 'adaptive', [torn])
  await t.rejects(
    fetch(url).then((answer) => answer.text()),
    { message: /terminated/ },
  )
})
