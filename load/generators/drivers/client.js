import http from 'node:http'
import https from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { createMix } from '../mix.js'
import { PROTOCOL, sideOfCode, sideOfEnd, TIMEOUT, takeFrom } from './errors.js'
import { Samples } from './recorder.js'
import { countClosedLoop } from './tally.js'

/**
 * @import { Mix } from '../mix.js'
 * @import { Driver, Load, Phase } from './index.js'
 */

/** Latencies of successes are also counted in buckets, each 2.3% wide, so that several trials can be merged. */
const BUCKETS_PER_DECADE = 100

/** Phases of a request in order; the first three happen once per connection. */
const PHASES = ['dns', 'connect', 'tls', 'write', 'wait', 'read']
const SETUP = PHASES.slice(0, 3)
const RETRY_DELAY_MS = 10
/** Maximum number of interim responses (1xx): Node limits only their size. */
const INTERIM_MAX = 1000
/** Longest body that values are taken from. */
const BODY_MAX_BYTES = 1 << 20

/**
 * Closed loop with Node's HTTP client, for any HTTP or HTTPS service. Each worker has its own connection, sends its next request
 * after the last is answered, and times each phase of a request. Slower than `workers`, but more detailed.
 *
 * As in `paced`, latency includes connecting if the request had to wait for it: with one connection per request, or after the
 * target closed one. The time to open each worker's first connection is not counted, since `paced` connects in advance.
 * @type {Driver}
 */
export const client = {
  name: 'client',
  loop: 'closed',
  version: async () => process.version,
  async open(load) {
    const mix = createMix(load.mix, load.trial)
    let requests = 0
    return { run: (phase) => drive(load, phase, () => mix(requests++)), close: async () => {} }
  },
}

/** @param {Load} load @param {Phase} phase @param {() => ReturnType<Mix>} next */
async function drive(load, phase, next) {
  const { signal } = phase
  const phases = Object.fromEntries(PHASES.map((name) => [name, new Samples()]))
  /** @type {Record<string, number>} */
  const buckets = {}
  const sizes = { body: new Samples(), response: new Samples() }
  const end_ms = performance.now() + phase.duration_s * 1000
  const url = new URL(load.url)
  const { Agent, request } = url.protocol === 'https:' ? https : http

  const traffic = await countClosedLoop(load, phase, (recorder, answered) => {
    return Promise.all(Array.from({ length: load.connections }, work))

    async function work() {
      const agent = new Agent({ keepAlive: !load.fresh_connections, maxSockets: 1 })
      let isAhead = !load.fresh_connections
      try {
        while (performance.now() < end_ms && !signal.aborted) {
          const asked = next()
          const { name, method, path, body, ...own } = asked
          const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body
          const headers = { ...Object.fromEntries(own.headers), 'Content-Length': bytes.length }
          recorder.sent++
          const options = { method, headers, agent, signal, ...(path !== null && { path }) }
          const how = { timeout_s: load.timeout_s, isAhead, keepsBody: asked.take !== undefined }
          const ended = await exchange(request(url, options), bytes, how)
          const error = ended.error ?? takeFrom(asked, ended.status, ended.body)
          isAhead = false
          if (error) {
            recorder.error(error, ended.latency_ms, name)
            await sleep(RETRY_DELAY_MS)
          } else {
            answered(name, ended.status, ended.latency_ms)
            keep(ended)
          }
        }
      } finally {
        agent.destroy()
      }
    }
  })

  /** @param {Ended} ended */
  function keep({ status, latency_ms, phases_ms, body_bytes, response_bytes }) {
    const isOk = status >= 200 && status < 300
    const bucket = bucketOf(latency_ms)
    if (isOk) {
      buckets[bucket] = (buckets[bucket] ?? 0) + 1
      sizes.body.add(body_bytes)
      sizes.response.add(response_bytes)
    }
    for (const [part, phase_ms] of Object.entries(phases_ms)) {
      if (isOk || SETUP.includes(part)) phases[part].add(phase_ms)
    }
  }

  const distributions = Object.entries(phases).map(([name, samples]) => [name, samples.distribution()])
  const [ok_body_bytes, ok_response_bytes] = [sizes.body.distribution(), sizes.response.distribution()]
  return { ...traffic, phases_ms: Object.fromEntries(distributions), buckets, ok_body_bytes, ok_response_bytes }
}

/** Number of the bucket that holds a latency. @param {number} latency_ms */
export function bucketOf(latency_ms) {
  return Math.floor(BUCKETS_PER_DECADE * Math.log10(Math.max(latency_ms, 1e-3)))
}

/** Midpoint of a bucket in ms, on the logarithmic scale. @param {number} bucket */
export function middleOf(bucket) {
  return 10 ** ((bucket + 0.5) / BUCKETS_PER_DECADE)
}

/**
 * Sends one request and reads its answer.
 * @param {http.ClientRequest} req @param {Buffer} body
 * @param {{ timeout_s: number, isAhead: boolean, keepsBody: boolean }} how isAhead: the latency starts when the connection is open
 * @returns {Promise<Ended>}
 * @typedef {{ status: number, latency_ms: number, phases_ms: Record<string, number>, error: string | null, body: string,
 *   body_bytes: number, response_bytes: number }} Ended body: empty if it is not kept or too long; response_bytes: everything that
 *   arrived for the request, decrypted
 */
function exchange(req, body, { timeout_s, isAhead, keepsBody }) {
  return new Promise((resolve) => {
    /** @type {Record<string, number>} */
    const phases_ms = {}
    let last_ms = performance.now()
    let start_ms = last_ms
    let status = 0
    let interim = 0
    let body_bytes = 0
    /** @type {Buffer[]} */
    const kept = []
    /** Bytes that had arrived on the connection before this request, and the same by now. */
    let before_bytes = 0
    let receivedBytes = () => 0
    /** @param {string} phase that ends now */
    const mark = (phase) => {
      const now_ms = performance.now()
      phases_ms[phase] = now_ms - last_ms
      last_ms = now_ms
    }
    const ready = () => {
      last_ms = performance.now()
      if (isAhead) start_ms = last_ms
    }
    /** @param {string | null} error */
    const settle = (error) => {
      clearTimeout(timer)
      resolve({
        status,
        latency_ms: performance.now() - start_ms,
        phases_ms,
        error,
        body: body_bytes > BODY_MAX_BYTES || kept.length === 0 ? '' : Buffer.concat(kept).toString(),
        body_bytes,
        response_bytes: receivedBytes() - before_bytes,
      })
    }
    /** How the server ended the connection. @param {boolean} answerBegan */
    const ended = (answerBegan) => ({ reused: req.reusedSocket, answerBegan, waited_ms: performance.now() - start_ms })
    /** @param {string} error */
    const giveUp = (error) => {
      settle(error)
      req.destroy()
    }
    const timer = setTimeout(giveUp, timeout_s * 1000, TIMEOUT)
    req.on('information', () => {
      if (++interim > INTERIM_MAX) giveUp(PROTOCOL)
    })
    // Without a listener, Node closes the connection silently.
    req.on('upgrade', (_res, socket) => {
      socket.destroy()
      giveUp(PROTOCOL)
    })
    req.on('socket', (socket) => {
      receivedBytes = () => socket.bytesRead
      before_bytes = socket.bytesRead
      if (!socket.connecting) return ready()
      const isSecure = 'encrypted' in socket
      socket.once('lookup', () => mark('dns'))
      socket.once('connect', () => mark('connect'))
      if (isSecure) socket.once('secureConnect', () => mark('tls'))
      socket.once(isSecure ? 'secureConnect' : 'connect', ready)
    })
    req.on('finish', () => mark('write'))
    req.on('response', (res) => {
      mark('wait')
      status = res.statusCode ?? 0
      res.on('end', () => {
        mark('read')
        settle(null)
      })
      res.on('error', () => settle(sideOfEnd(ended(true))))
      res.on('data', (/** @type {Buffer} */ bytes) => {
        body_bytes += bytes.length
        if (keepsBody && body_bytes <= BODY_MAX_BYTES) kept.push(bytes)
      })
    })
    req.on('error', (/** @type {NodeJS.ErrnoException} */ error) => {
      const isEnd = error.code === 'ECONNRESET' && error.message === 'socket hang up'
      settle(isEnd ? sideOfEnd(ended(status > 0)) : sideOfCode(error))
    })
    req.end(body)
  })
}
