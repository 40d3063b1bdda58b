import { execFile, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import http from 'node:http'
import net from 'node:net'
import path from 'node:path'
import t from 'tap'
import '../support/unit-tier.js'

t.test('a unit test that starts a process or opens a socket fails', async (t) => {
  const rows = /** @type {[string, () => unknown, RegExp][]} */ ([
    ['spawnSync', () => spawnSync('true'), /without processes, got true/],
    ['execFile', () => execFile('true'), /without processes, got true/],
    ['listen', () => net.createServer().listen(0), /without sockets, got listen/],
    ['an HTTP server', () => http.createServer().listen(0), /without sockets, got listen/],
    ['connect', () => net.connect(9), /without sockets, got connect/],
    ['an HTTP request', () => http.get('http://127.0.0.1:9/'), /without sockets, got connect/],
  ])
  for (const [name, act, message] of rows) t.throws(act, { message }, name)
})

/** What reaches outside, or the clock, by the text of a file. */
const FORBIDDEN = {
  'a module':
    /from 'node:(?:net|tls|http|https|http2|dgram|child_process|worker_threads|timers(?:\/promises)?|perf_hooks)'/,
  'a timer': /(?<![.\w])(?:setTimeout|setInterval)\(/,
  'a clock': /\b(?:Date\.now|performance\.now|process\.hrtime|new Date)\(\)?(?=[^'"\d]|$)/,
  'a request': /\bfetch\(/,
}

/** By file, why it may. */
const MAY = /** @type {Record<string, string>} */ ({
  'test/unit/tier.test.js': 'tries what is forbidden',
  'test/unit/assertions.test.js': 'has sleeps in the texts that it scans',
  'test/unit/api/drain.test.js': 'makes a server that never listens',
  'test/unit/api/simulation.test.js': 'says how many seeds a second it runs',
})

t.test('no unit test asks for the outside or the real clock', async (t) => {
  const files = fs
    .readdirSync('test/unit', { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.js'))
  t.ok(files.length > 40, `${files.length} files`)
  const found = files
    .map((file) => path.join('test/unit', file))
    .filter((file) => !(file in MAY))
    .flatMap((file) => {
      const text = fs.readFileSync(file, 'utf8')
      return Object.entries(FORBIDDEN).flatMap(([what, pattern]) => (pattern.test(text) ? `${file}: ${what}` : []))
    })
  t.strictSame(found, [])
  for (const file of Object.keys(MAY)) t.ok(fs.existsSync(file), file)
})
