import t from 'tap'
import { UsageError } from '../../../../load/command/errors.js'
import { parseLog } from '../../../../load/generators/access-log.js'
import { caught } from '../../../support/caught.js'

/** @param {string} request @param {string} [time] */
const combined = (request, time = '10/Oct/2025:13:55:36 +0200') =>
  `203.0.113.9 - bob [${time}] "${request}" 200 2326 "http://a.test/?q=[1]" "curl \\"8\\""`
const json = (/** @type {object} */ row) => JSON.stringify({ time: 1_760_097_336, method: 'GET', path: '/a', ...row })
/** Two lines of each format that are understood, a second apart. */
const COMBINED = [combined('GET /a HTTP/1.1'), combined('GET /b HTTP/1.1', '10/Oct/2025:13:55:37 +0200')]
const JSON_LINES = [json({}), json({ time: 1_760_097_337, path: '/b' })]

/** @param {(string | Buffer)[]} lines */
const parsed = (lines) => parseLog(Buffer.concat(lines.flatMap((line) => [Buffer.from(line), Buffer.of(10)])))
/** @param {ReturnType<typeof parseLog>} recording */
const arrivals = ({ order, requests }) => [...order].map((i) => requests[i])

t.test('what a line asks for', async (t) => {
  /** @type {[string, string, string][]} a line, its request, and what is meant */
  const rows = [
    [combined('GET /a?x=1&y=%20 HTTP/1.1'), 'GET /a?x=1&y=%20', 'a query stays'],
    [combined('HEAD /a HTTP/2.0'), 'HEAD /a', 'HEAD'],
    [combined('GET http://u:p@other.test:81/a#b HTTP/1.1'), 'GET /a', 'no origin, no fragment'],
    [combined('GET HTTPS://other.test?q HTTP/1.1'), 'GET /?q', 'an empty path'],
    [combined('GET //other.test/a HTTP/1.1'), 'GET //other.test/a', 'a path, not an origin'],
    ['a.test:80 ::1 - - [10/Oct/2025:13:55:36 +0200] "GET /a HTTP/1.1" 304 -', 'GET /a', 'common, with its host'],
    ['[2001:db8::17] - - [10/Oct/2025:13:55:36 +0200] "GET /a HTTP/1.1" 304 -', 'GET /a', 'IPv6, as Jetty writes it'],
    ['a.test [::1] - - [10/Oct/2025:13:55:36 +0200] "GET /a HTTP/1.1" 304 -', 'GET /a', 'the same, with its host'],
    [json({ method: 'get' }), 'GET /a', 'a method in lower case'],
    [json({ request: 'HEAD /c?d HTTP/1.1' }), 'HEAD /c?d', 'a request line goes first'],
    [json({ request: { url: '/x' } }), 'GET /a', 'a request that is none'],
    [json({ path: undefined, uri: '/u' }), 'GET /u', 'uri'],
    [json({ uri: '/u', request_uri: '/u?q' }), 'GET /u?q', 'the one with the query'],
    [json({ path: undefined, url: 'https://a.test/v?w' }), 'GET /v?w', 'url'],
    [json({ method: undefined, request_method: 'HEAD' }), 'HEAD /a', 'request_method'],
  ]
  for (const [line, request, about] of rows) {
    const rest = line.startsWith('{') ? JSON_LINES[1] : COMBINED[1]
    t.strictSame(arrivals(parsed([line, rest])), [request, 'GET /b'], about)
  }
})

t.test('a time in all its spellings is the same time', async (t) => {
  const at_s = 1_760_097_336
  const rows = [
    { time: at_s },
    { time: at_s * 1000 },
    { time: `${at_s}.000` },
    { time: undefined, timestamp: '2025-10-10T11:55:36Z' },
    { time: undefined, ts: '2025-10-10 11:55:36' },
    { time: null, '@timestamp': '2025-10-10T13:55:36.000+02:00' },
    { time: undefined, msec: '2025-10-10T07:55:36,000000-0400' },
    { time: '10/Oct/2025:13:55:36 +0200' },
  ]
  for (const row of rows) {
    const { times_s } = parsed([json({ time: at_s - 1.5 }), json(row)])
    t.strictSame([...times_s], [0, 1.5], JSON.stringify(row))
  }
})

t.test('lines that are not understood are counted and skipped', async (t) => {
  /** @type {(string | Buffer)[]} */
  const other = [
    'hunter2',
    '\0'.repeat(100),
    Buffer.of(0xff, 0xfe, 0x00, 0x80),
    'x'.repeat(1 << 20),
    '['.repeat(60_000),
    '{'.repeat(60_000),
    '[1]',
    'null',
  ]
  const ofCombined = [
    ...other,
    combined('GET /a HTTP/1.1', '32/Oct/2025:13:55:36 +0200'),
    combined('GET /a HTTP/1.1', '10/Foo/2025:13:55:36 +0200'),
    combined('GET /a HTTP/1.1', '10/Oct/2025:25:55:36 +0200'),
    combined('-'),
    combined('\\x16\\x03\\x01'),
    combined('GET /a b HTTP/1.1'),
    combined(`GET /${'a'.repeat(1 << 20)} HTTP/1.1`),
    COMBINED[0].slice(0, 60),
    JSON_LINES[0],
  ]
  const ofJson = [
    ...other,
    ...['soon', -1, 1e300, true, {}, '9'.repeat(400), '2025-13-01T00:00:00Z', ''].map((time) => json({ time })),
    `{"time":${'9'.repeat(400)},"method":"GET","path":"/a"}`,
    '{"time":{"toString":1},"request":{"toString":1},"method":"GET","path":"/a"}',
    ...[{ method: 7 }, { path: ['/a'] }, { path: undefined }, { method: undefined }].map(json),
    COMBINED[0],
  ]
  for (const [first, bad, last] of /** @type {[string, string[], string][]} */ ([
    [COMBINED[0], ofCombined, COMBINED[1]],
    [JSON_LINES[0], ofJson, JSON_LINES[1]],
  ])) {
    t.ok(bad.length > other.length)
    for (const line of bad) {
      const { summary, ...recording } = parsed(['', first, '', line, last])
      const skipped = { lines: 3, not_understood: 1, first_line: 4, methods: 0, paths: 0 }
      t.strictSame(summary.skipped, skipped, JSON.stringify(line.toString().slice(0, 80)))
      t.strictSame(arrivals({ summary, ...recording }), ['GET /a', 'GET /b'])
    }
  }
})

t.test('only GET and HEAD of a path are replayed, and are all that the rates count', async (t) => {
  const others = ['POST /a', 'CONNECT a.test:443', 'OPTIONS *'].map((start) => combined(`${start} HTTP/1.1`))
  const unsent = ['*', 'a.test:80', '/é', '/\\x22', 'ftp://a.test/a'].map((target) =>
    combined(`GET ${target} HTTP/1.1`),
  )
  const { summary } = parsed([...COMBINED, ...others, ...unsent])
  t.match(summary, { requests: 2, span_s: 2, mean_rps: 1, peak_rps: 1 })
  t.strictSame(summary.methods, ['GET'])
  t.match(summary.skipped, { lines: 10, not_understood: 0, first_line: null, methods: 3, paths: 5 })
})

t.test('arrivals are in the order of their times, and whole seconds are spread', async (t) => {
  const at = (/** @type {number} */ time, /** @type {string} */ path) => json({ time, path })
  const whole = parsed([at(12, '/c'), at(10, '/a'), at(12, '/d'), at(10, '/b'), at(10, '/a'), at(12, '/a')])
  t.strictSame(
    arrivals(whole),
    ['/a', '/b', '/a', '/c', '/d', '/a'].map((path) => `GET ${path}`),
  )
  t.strictSame([...whole.times_s], [0, 0.333333, 0.666667, 2, 2.333333, 2.666667])
  t.match(whole.summary, { requests: 6, span_s: 3.2, mean_rps: 6 / 3.2, peak_rps: 3 })
  const finer = parsed([at(12.5, '/c'), at(10, '/a'), at(10, '/b'), at(11.5, '/a')])
  t.strictSame([...finer.times_s], [0, 0, 1.5, 2.5], 'not where the times are finer')
})

t.test('what cannot be replayed is refused with a line that holds nothing of it', async (t) => {
  const same = combined('GET /hunter2 HTTP/1.1')
  const rows = /** @type {[Buffer | string, RegExp][]} */ ([
    ['', /expected an access log in combined or common format, .*, got 0 lines/],
    ['hunter2\nhunter2\n', /got 2 lines, none of which was understood$/],
    [Buffer.of(0x1f, 0x8b, 8, 0), /expected text, got a gzip file: zcat it/],
    [same, /expected at least two requests by GET or HEAD at different times, got 1$/],
    [`${same}\n${same}`, /at different times, got 2 at the same time$/],
    [combined('POST /hunter2 HTTP/1.1'), /at different times, got 0$/],
    ['x\n'.repeat(1_000_001), /expected at most 1000000 lines, got more$/],
  ])
  for (const [text, message] of rows) {
    const error = caught(() => parseLog(Buffer.from(text)))
    t.type(error, UsageError)
    t.match(error.message, /^--replay: [^\n]*$/)
    t.match(error.message, message)
    t.notMatch(error.message, 'hunter2')
  }
})
