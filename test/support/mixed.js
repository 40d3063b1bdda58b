import { createMix } from '../../load/generators/mix.js'
import { httpServer } from './servers.js'

/** @import { Entry } from '../../load/report/record.js' */

/** A mix in which each request shows whether it was sent as it should be. @type {Entry[]} */
export const ENTRIES = [
  { name: 'create', method: 'POST', path: '/user', body: '{"email":"{{word}}-{{seq}}@redline.test"}', weight: 3 },
  { name: 'read', method: 'GET', path: '/user/{{int 1 1000}}?w={{word}}', body: '', weight: 6 },
  { name: 'umlaut', method: 'PUT', path: '/user/{{int -5 5}}', body: 'Grüße "\\" {{seq}}', weight: 1 },
]

/** Keeps what it is sent; answers 201 to POST, 404 to PUT, 200 to GET. @param {any} t */
export async function countingServer(t) {
  /** @type {string[]} */
  const seen = []
  const url = await httpServer(t, async (req, res) => {
    const body = Buffer.concat(await req.toArray()).toString()
    seen.push(`${req.method} ${req.url} ${body}`)
    res.writeHead({ POST: 201, PUT: 404 }[String(req.method)] ?? 200, { 'Content-Length': 0 }).end()
  })
  return { url, seen }
}

/**
 * The first requests of a mix as that server should see them.
 * @param {Entry[]} entries
 * @param {number} count
 */
export function requestsOf(entries, count) {
  const plan = { name: 'mix', method: 'POST', headers: [], body_base64: null, seed: 1, entries }
  const mix = createMix(plan, 1)
  const requests = Array.from({ length: count }, (_, i) => mix(i))
  const text = (/** @type {string | Buffer} */ body) => Buffer.from(String(body), 'latin1').toString()
  return new Set(requests.map(({ method, path, body }) => `${method} ${path} ${text(body)}`))
}

/** @param {Record<string, number> | number[]} counts */
export function total(counts) {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
