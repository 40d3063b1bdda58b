import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import t from 'tap'
import { newUser, post, postgres, startApi } from '../support/api.js'
import { answers, connect, rawPost } from '../support/socket.js'

const CONNECTIONS = 1500
const MAX_RSS_MB = 250
const MAX_WAIT_MS = 5000

const HEAD = 'POST /user HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
const database = await postgres(t)

/** @param {number} bytes length of the JSON of a user, as the password fills it up */
function userOf(bytes) {
  const short = JSON.stringify({ ...newUser(), more: '' })
  return short.replace('"more":""', `"more":"${'x'.repeat(bytes - short.length)}"`)
}

/** @param {string} text @param {number} chunkBytes @param {string} [extension] of every chunk */
function chunked(text, chunkBytes, extension = '') {
  const chunks = text.match(new RegExp(`.{1,${chunkBytes}}`, 'gs')) ?? []
  return `${chunks.map((chunk) => `${chunk.length.toString(16)}${extension}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
}

const skip = existsSync('/proc/self/status') ? undefined : 'the peak of the memory is read from /proc'
const attacks = [
  { about: 'one-byte chunks', chunkBytes: 1 },
  { about: 'the smallest chunks that are accepted', chunkBytes: 16 },
]
for (const { about, chunkBytes } of attacks) {
  t.test(`${CONNECTIONS} unfinished bodies in ${about}: bounded memory, and others are served`, { skip }, async (t) => {
    const api = await startApi(t, database.url)
    t.equal((await post(api.url, newUser())).status, 201)
    const program = ['test/support/tiny-chunks.js', api.url, CONNECTIONS, chunkBytes, 16_000].map(String)
    const attacker = spawn(process.execPath, program, { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => attacker.kill('SIGKILL'))
    const lines = createInterface(attacker.stdout)[Symbol.asyncIterator]()
    t.equal((await lines.next()).value, 'open')
    let isOver = false
    const over = lines.next().finally(() => {
      isOver = true
    })
    const answered = []
    while (!isOver || answered.length === 0) answered.push(await timedPost(api.url))
    answered.push(await timedPost(api.url))
    t.strictSame([...new Set(answered.map(({ status }) => status))], [201], 'every answer is a 201')
    const slowest_ms = Math.round(Math.max(...answered.map(({ ms }) => ms)))
    t.ok(slowest_ms < MAX_WAIT_MS, `the slowest of ${answered.length} answers took ${slowest_ms} ms`)
    const peak_mb = peakRss(api.pid)
    t.ok(peak_mb < MAX_RSS_MB, `peak RSS ${peak_mb} MB`)
    t.comment(`attackers: ${(await over).value}`)
  })
}

/** @param {string} url */
async function timedPost(url) {
  const startedAt_ms = performance.now()
  const { status } = await post(url, newUser(), { 'Content-Type': 'application/json', Connection: 'close' })
  return { status, ms: performance.now() - startedAt_ms }
}

/** @param {number | null} pid @returns {number} MB, the most that it has had */
function peakRss(pid) {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}
