import t from 'tap'
import { ENDLESS, MALFORMED, VALID } from '../support/hostile.js'
import { loadOnce } from '../support/load.js'
import { tcpServer } from '../support/servers.js'

/** Beyond it a run hangs. */
const DEADLINE_MS = 20_000

/** Node's own client, and so the driver `client`, waits for the first, takes the second for valid, refuses the third and waits for the last. */
const NODE_DIFFERS = [
  'Content-Length: 2^53',
  'a second response behind a response',
  'Content-Length: spaces around it',
  'digits of a chunk size',
]

for (const [driver, except] of Object.entries({ paced: [], autocannon: [], client: NODE_DIFFERS })) {
  t.test(`${driver}: malformed and endless responses are protocol errors of the server`, async (t) => {
    const rows = Object.entries({ ...MALFORMED, ...ENDLESS, ...VALID }).filter(([name]) => !except.includes(name))
    const { url, served } = await hostileServer(t, Object.fromEntries(rows))
    const { status, errors } = await loadOnce(driver, url, {
      ...{ duration_s: 1.2, rate_rps: 100, connections: 4, timeout_s: 3 },
      signal: AbortSignal.timeout(DEADLINE_MS),
    })
    const named = (/** @type {(name: string) => boolean} */ isOf) =>
      Object.entries(served).filter(([name, { count }]) => isOf(name) && count > 0)
    t.ok(
      Object.values(served).every(({ count }) => count > 0),
      'each was served',
    )
    const taken = named((name) => !(name in VALID)).filter(([, { code }]) => status[code])
    t.strictSame(
      taken.map(([name]) => name),
      [],
      'none of them is taken for an answer',
    )
    const refused = named((name) => name in VALID).filter(([, { code, count }]) => status[code] !== count)
    t.strictSame(
      refused.map(([name]) => name),
      [],
      'and good ones among them are',
    )
    const malformed = named((name) => !(name in VALID)).reduce((sum, [, { count }]) => sum + count, 0)
    t.strictSame(errors, { 'server:protocol': malformed })
  })
}

/**
 * Answers each request with the next of the responses, each with a status of its own.
 *
 * @param {any} t
 * @param {Record<string, import('../support/hostile.js').Response | import('../support/hostile.js').Endless>} responses
 */
async function hostileServer(t, responses) {
  const rows = Object.entries(responses)
  const served = Object.fromEntries(rows.map(([name], i) => [name, { code: 210 + i, count: 0 }]))
  let requests = 0
  const url = await tcpServer(t, (socket) => {
    socket.on('data', () => {
      const [name, response] = rows[requests++ % rows.length]
      const one = served[name]
      one.count++
      const bytes = response(`HTTP/1.1 ${one.code} Row\r\n`)
      if (typeof bytes === 'string') return socket.write(bytes, 'latin1')
      socket.write(bytes.first, 'latin1')
      const more = () => {
        while (!socket.destroyed && socket.write(bytes.again, 'latin1'));
      }
      socket.on('drain', more)
      more()
    })
  })
  return { url, served }
}
