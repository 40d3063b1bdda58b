import fs from 'node:fs'
import t from 'tap'
import { hitsOf } from '../../../load/generators/drivers/vegeta/hits.js'
import { ENDLESS, MALFORMED, sendEndless, VALID } from '../../support/hostile.js'
import { runHere, trialHere } from '../../support/in-process.js'
import { readRun, readTrials, temporaryFolder } from '../../support/lab.js'
import { loadHere } from '../../support/load.js'
import { httpServer, tcpServer } from '../../support/servers.js'

/**
 * @import { Endless, Response } from '../../support/hostile.js'
 * @import { Socket } from 'node:net'
 */

/** Beyond it a run hangs. */
const DEADLINE_MS = 120_000

/** Node's own client, and so the driver `client`, waits for the first, takes the second for valid, refuses the third and waits for the last. */
const NODE_DIFFERS = [
  'Content-Length: 2^53',
  'a second response behind a response',
  'Content-Length: spaces around it',
  'digits of a chunk size',
]

for (const driver of ['paced', 'workers', 'autocannon', 'client']) {
  const except = driver === 'client' ? NODE_DIFFERS : []
  t.test(`${driver}: malformed and endless responses are protocol errors of the server`, async (t) => {
    const rows = Object.entries({ ...MALFORMED, ...ENDLESS, ...VALID }).filter(([name]) => !except.includes(name))
    const { url, served } = await hostileServer(t, Object.fromEntries(rows))
    /** @type {Record<string, Record<string, number>>} */
    const found = { status: {}, errors: {} }
    const all = Object.values(served)
    // Loads are short, since a closed loop goes round many times while it lasts.
    for (let loads = 0; loads < 100 && all.some(({ count }) => count === 0); loads++) {
      const traffic = await loadHere(driver, url, {
        ...{ duration_s: 0.1, rate_rps: 600, connections: 4, timeout_s: 30 },
        signal: AbortSignal.timeout(DEADLINE_MS),
      })
      for (const kind of ['status', 'errors']) {
        for (const [name, count] of Object.entries(traffic[kind])) found[kind][name] = (found[kind][name] ?? 0) + count
      }
    }
    const { status, errors } = found
    const named = (/** @type {(name: string) => boolean} */ isOf) =>
      Object.entries(served).filter(([name, { count }]) => isOf(name) && count > 0)
    t.ok(all.length > 50 && all.every(({ count }) => count > 0), 'each was served')
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

t.test('paced: what arrives unasked is a protocol error of the next request on its connection', async (t) => {
  const empty = 'HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n'
  /** @type {[string, (socket: Socket) => void, [least: number, most: number]][]} of 20 requests */
  const rows = [
    ['a banner', (socket) => socket.write('220 smtp\r\n'), [20, 20]],
    [
      'a response before any request',
      (socket) => {
        socket.write(empty)
        answer(socket, empty)
      },
      // One that comes when the next request is out looks like its answer.
      [1, 20],
    ],
    [
      'a second response, later',
      (socket) =>
        socket.on('data', () => {
          socket.write(empty)
          setTimeout(() => socket.write(empty), 20)
        }),
      [1, 20],
    ],
    [
      'empty lines',
      (socket) => {
        socket.write('\r\n')
        answer(socket, `${empty}\r\n`)
      },
      [0, 0],
    ],
    [
      'a connection closed for being idle',
      (socket) => {
        if (served++ < 2) socket.end('HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n')
        else answer(socket, empty)
      },
      [0, 0],
    ],
  ]
  let served = 0
  for (const [name, onConnection, [least, most]] of rows) {
    const url = await tcpServer(t, onConnection)
    const { errors } = await loadHere('paced', url, { duration_s: 0.4, rate_rps: 50, connections: 2 })
    const { 'server:protocol': found = 0, ...others } = errors
    t.ok(found >= least && found <= most, `${name}: ${found}`)
    t.strictSame(others, {}, name)
  }
})

t.test('a first request that crossed a 408 is sent again on a new connection, once', async (t) => {
  const timeout = 'HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n'
  const load = { duration_s: 0.4, rate_rps: 50, connections: 2 }
  let connections = 0
  const closing = await tcpServer(t, (socket) => {
    if (connections++ < 2) socket.once('data', () => socket.end(timeout))
    else answer(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n')
  })
  const crossed = await loadHere('paced', closing, load)
  t.strictSame([crossed.errors, Object.keys(crossed.status)], [{}, ['200']])
  t.ok(connections >= 3, `${connections} connections`)

  let received = 0
  const refusing = await tcpServer(t, (socket) => {
    socket.once('data', () => {
      received++
      socket.end(timeout)
    })
  })
  const refused = await loadHere('paced', refusing, load)
  t.strictSame([refused.errors, Object.keys(refused.status)], [{}, ['408']])
  t.equal(received, 2 * refused.sent, 'no request is repeated twice')
})

t.test('autocannon: responses that end with the connection, interim ones and HTTP/1.0 are understood', async (t) => {
  /** @type {Record<string, [text: string, ends: boolean]>} */
  const responses = {
    'ends with the connection': ['HTTP/1.1 200 OK\r\n\r\nuntil the end', true],
    'HTTP/1.0': ['HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}', true],
    'HTTP/1.0, kept alive': ['HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}', false],
    interim: ['HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}', false],
  }
  for (const [name, [text, ends]] of Object.entries(responses)) {
    const url = await tcpServer(t, (socket) =>
      socket.once('data', () => (ends ? socket.end(text) : answer(socket, text, true))),
    )
    const { errors, status, sent } = await loadHere('autocannon', url, { duration_s: 0.05, connections: 2 })
    t.strictSame(errors, {}, name)
    t.ok(sent > 0 && status[200] === sent, `${name}: ${status[200]} of ${sent}`)
  }
})

t.test('a sweep of a service whose responses are malformed ends with what it saw', async (t) => {
  const url = await tcpServer(t, (socket) => answer(socket, MALFORMED['chunk size: -5']('HTTP/1.1 201 Created\r\n')))
  const page = Buffer.from('x 1\n'.repeat(2 ** 20 + 1))
  const metrics = await httpServer(t, (_req, res) => void res.end(page))
  for (const load of [
    '--driver=paced --rates=50',
    '--driver=autocannon --connections=4',
    '--driver=client --connections=4',
  ]) {
    const folder = temporaryFolder(t)
    const common = [
      `--url=${url}`,
      `--metrics-url=${metrics}`,
      '--duration=200ms',
      '--warmup=50ms',
      '--slo-p99=9s',
      `--out=${folder}`,
    ]
    const { code, stdout } = await runHere(['sweep', ...common, ...load.split(' ')], {
      lab: { runTrial: trialHere },
      signal: AbortSignal.timeout(DEADLINE_MS),
    })
    t.equal(code, 1, load)
    t.match(stdout, /not one request succeeded: 0 of \d+ succeeded/)
    const { traffic } = readTrials(folder)[0]
    t.ok(traffic.planned > 0)
    t.strictSame(traffic.errors, { 'server:protocol': traffic.planned })
    const warnings = readRun(folder).warnings.filter((/** @type {string} */ text) => text.includes('metrics page'))
    t.equal(warnings.length, 1)
    t.match(warnings[0], /^the service's metrics page could not be read/)
  }
})

t.test('vegeta: a line break that a response put into an error does not split a row', async (t) => {
  const error = 'malformed MIME header line: no\rcolon\u2028at all'
  const row = (/** @type {number} */ seq, /** @type {string} */ error) =>
    `1700000000000000000,0,1000000,0,0,"${error}",,0,${seq},POST,http://h/#2,`
  const folder = t.testdir({
    rows: `${row(0, error)}\n${row(1, 'EOF')}\n`,
    vegeta: '#!/bin/sh\ncat "$(dirname "$0")/rows"\n',
  })
  fs.chmodSync(`${folder}/vegeta`, 0o755)
  const { hits } = /** @type {any} */ ((await hitsOf(`${folder}/vegeta`, [], new AbortController().signal)).get(0))
  t.strictSame(
    hits.map((/** @type {any} */ { seq, error, entry }) => [seq, error, entry]),
    [
      [0, `"${error}"`, 2],
      [1, '"EOF"', 2],
    ],
  )
})

/** Answers each request. @param {Socket} socket @param {string} text @param {boolean} [now] one has come */
function answer(socket, text, now = false) {
  if (now) socket.write(text)
  socket.on('data', () => socket.write(text))
}

/**
 * Answers each request with the next of the responses, each with a status of its own.
 * @param {any} t
 * @param {Record<string, Response | Endless>} responses
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
      if (typeof bytes === 'string') socket.write(bytes, 'latin1')
      else sendEndless(socket, bytes)
    })
  })
  return { url, served }
}
