import { createRequire } from 'node:module'
import { createMix } from '../mix.js'
import { PROTOCOL, sideOfCode, sideOfEnd, TIMEOUT } from './errors.js'
import { headsOf } from './head.js'
import { refuseHttpsAndHead, refuseTaking } from './refuse.js'
import { ProtocolError, ResponseReader } from './response.js'
import { countClosedLoop } from './tally.js'

/**
 * @import { Driver, Load, Phase } from './index.js'
 * @import { Recorder } from './recorder.js'
 * @import { Answered } from './tally.js'
 */

const require = createRequire(import.meta.url)

/** Defines the names of the callbacks that a client gives its parser. */
const { HTTPParser } = createRequire(require.resolve('autocannon'))('http-parser-js')

/** Interval at which autocannon checks whether it is done. */
const END_CHECK_INTERVAL_MS = 100
const RECONNECT_DELAY_MS = 10

/**
 * Closed loop by autocannon. Its rate option sends in one-second bursts and is not offered; its histogram has a resolution of
 * 1 ms and is not used: each response is timed here.
 * @type {Driver}
 */
export const autocannon = {
  name: 'autocannon',
  loop: 'closed',
  version: async () => require('autocannon/package.json').version,
  check(asked) {
    refuseHttpsAndHead('autocannon', asked)
    refuseTaking('autocannon', asked)
  },
  async open(load) {
    // The import takes half of a generator's startup time, which other drivers need not wait for.
    const { default: runAutocannon } = await import('autocannon')
    const mix = createMix(load.mix, load.trial)
    const head = headsOf(load.url, load.fresh_connections)
    let requests = 0
    const next = () => {
      const request = mix(requests++)
      const { name, body } = request
      if (typeof body === 'string') return { name, bytes: Buffer.from(head(request) + body, 'latin1') }
      return { name, bytes: Buffer.concat([Buffer.from(head(request), 'latin1'), body]) }
    }
    return {
      run: (phase) => countClosedLoop(load, phase, (...counting) => drive(runAutocannon, load, phase, next, counting)),
      close: async () => {},
    }
  },
}

/**
 * @param {any} runAutocannon @param {Load} load @param {Phase} phase
 * @param {() => { name: string, bytes: Buffer }} next @param {[recorder: Recorder, answered: Answered]} counting
 */
async function drive(runAutocannon, load, { duration_s, signal }, next, counting) {
  /** @type {any[]} */
  const clients = []
  const instance = runAutocannon({
    url: load.url,
    connections: load.connections,
    timeout: Math.max(1, Math.ceil(load.timeout_s)),
    sampleInt: END_CHECK_INTERVAL_MS,
    // finish() stops the phase; this bounds clients that never get there.
    duration: Math.ceil(duration_s + 2 * load.timeout_s + 1),
    setupClient: (/** @type {any} */ client) => {
      clients.push(client)
      // In whole seconds only, as an option.
      client.timeout = load.timeout_s * 1000
      // autocannon's setBody rebuilds the whole request, headers and defaults: 8 of 28 us per request.
      client.getRequestBuffer = () => {
        const { name, bytes } = next()
        client.entryName = name
        return bytes
      }
      watch(client, counting, load, signal)
    },
  })
  // Stopping autocannon would drop requests in flight, whose rows may be stored without a response. Instead, each client's
  // current request becomes its last.
  const finish = () => {
    for (const client of clients) client.responseMax = Math.max(1, client.reqsMade)
  }
  const finishing = setTimeout(finish, duration_s * 1000)
  const abort = () => instance.stop()
  signal.addEventListener('abort', abort)
  try {
    await instance
  } finally {
    clearTimeout(finishing)
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Records the outcome of each request of one connection: autocannon neither counts requests whose connection the server closed,
 * nor attributes errors to a side. It also replaces the parser, http-parser-js, which loops forever on a malformed chunk
 * size and accepts malformed lengths; autocannon ignores its errors and never informs it that a connection has closed.
 * @param {any} client autocannon's, an event emitter, before it has connected
 * @param {[recorder: Recorder, answered: Answered]} counting @param {Load} load @param {AbortSignal} signal
 */
function watch(client, [recorder, answered], { timeout_s, fresh_connections = false }, signal) {
  const timeout_ms = timeout_s * 1000
  let sentAt_ms = 0
  let waiting = false
  /** The connection of the last request, and what it has answered so far. */
  let used = { conn: client.conn, reader: new ResponseReader(), reused: false, closing: false }

  client.parser = {
    /** @param {Buffer} bytes */
    execute(bytes) {
      const answer = used.reader.read(bytes)
      if (answer instanceof ProtocolError) return failed(PROTOCOL)
      if (answer === null) return
      used.closing = fresh_connections || !answer.keepAlive
      settle(answer.status)
      client.parser[HTTPParser.kOnHeadersComplete]({ statusCode: answer.status, headers: [] })
      client.parser[HTTPParser.kOnMessageComplete]()
    },
  }

  /** Called when a client continues or finishes without a response: the server closed the connection, or the timeout passed. */
  function settleLost() {
    if (!waiting) return
    waiting = false
    client.pipelinedRequests.clear()
    // autocannon writes another request even after a response that closes the connection: that request reached nobody.
    if (used.closing) return recorder.sent--
    const waited_ms = performance.now() - sentAt_ms
    // If the server did not close the connection, autocannon's timeout did; its timer may fire early by this clock.
    if (!used.conn.readableEnded || waited_ms >= timeout_ms) return recorder.error(TIMEOUT, waited_ms, client.entryName)
    const answer = used.reader.end()
    if (answer) settle(answer.status)
    else recorder.error(sideOfEnd({ reused: used.reused, answerBegan: false, waited_ms }), undefined, client.entryName)
  }

  /** @param {number} status */
  function settle(status) {
    waiting = false
    used.reused = true
    answered(client.entryName, status, performance.now() - sentAt_ms)
  }

  /** Delays reconnecting: without descriptors, autocannon would retry forever in one tick; destroyed clients wait. @param {string} side */
  function failed(side) {
    if (waiting) recorder.error(side, undefined, client.entryName)
    waiting = false
    client.destroyed = true
    client._destroyConnection()
    client.timeoutTicker.reschedule(client.timeout)
    setTimeout(() => {
      if (signal.aborted) return
      client.destroyed = false
      client._connect()
    }, RECONNECT_DELAY_MS)
  }

  client.on('request', () => {
    settleLost()
    const { conn } = client
    if (conn !== used.conn) used = { conn, reader: new ResponseReader(), reused: false, closing: false }
    waiting = true
    sentAt_ms = performance.now()
    recorder.sent++
  })
  client.on('connError', (/** @type {Error} */ error) => {
    // As in settleLost: a server that closes after its answer may reset the connection because of that other request.
    if (waiting && used.closing) {
      waiting = false
      recorder.sent--
    }
    failed(sideOfCode(error))
  })
  client.on('done', settleLost)
}
