import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { PROTOCOL, sideOfCode, sideOfEnd, TIMEOUT } from './errors.js'
import { isBlank, ProtocolError, ResponseReader } from './response.js'

/** @import { Answer } from './response.js' */

/** Matches a server's announcement that it is closing an idle connection (RFC 9110, section 15.5.9). */
const REQUEST_TIMEOUT = /^HTTP\/1\.[01] 408 /
/** Interval at which the users of connections look for requests that have timed out; see `expire`. */
export const EXPIRE_INTERVAL_MS = 50
/** One buffer shared by all connections: Node calls back after each read before it reads again. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/**
 * @typedef {{ host: string, port: number, secure: boolean, localAddress?: string, isFresh?: boolean }} Target localAddress: source address;
 *   isFresh: a new connection for each request, whether or not the server closes the old one
 * @typedef {(status: number, error: string | null, body?: string) => void} Done status: 0 on an error; body: if it was to be kept
 * @typedef {{ done: Done, sentAt_ms: number, answerBegan: boolean, head: string, body: string | Buffer, isRepeated: boolean }} Sent
 */

/**
 * An HTTP/1.1 connection that carries one request at a time and is reopened on demand.
 *
 * It uses raw sockets and our own reader, not an HTTP client: at 10,000 requests/s, undici 7 took 51 us of the generator's
 * core per request and was 5–7 ms late at p99; raw sockets took 27 us and were 1.1 ms late. A late generator measures itself.
 */
export class Connection {
  #target
  /** @type {net.Socket | null} */
  #socket = null
  /** Reader of the socket's responses. */
  #reader = new ResponseReader()
  #served = 0
  /** Set after an unsolicited response. */
  #isConfused = false
  /** Number of times that the server closed it, after a response or while it was idle. */
  closings = 0
  /** @type {Sent | null} */
  #request = null

  /** @param {Target} target */
  constructor(target) {
    this.#target = target
  }

  /** Connects ahead of the first request, which reports the error if connecting fails or times out. @param {number} timeout_ms */
  async open(timeout_ms) {
    const socket = this.#connect()
    const timer = setTimeout(() => socket.destroy(), timeout_ms)
    const open = once(socket, this.#target.secure ? 'secureConnect' : 'connect')
    await Promise.race([open, once(socket, 'close')]).catch(() => {})
    clearTimeout(timer)
  }

  /**
   * @param {string} head request line and headers, up to and including the empty line
   * @param {string | Buffer} body a string has one byte per character
   * @param {Done} done called once, after this method returns, with a status or the side at fault. If the server sent an
   *   unsolicited response on this connection, the request is not sent and the server is at fault
   * @param {{ bodiless?: boolean, keepsBody?: boolean }} [response] see ResponseReader
   */
  send(head, body, done, { bodiless = false, keepsBody = false } = {}) {
    this.#request = { done, sentAt_ms: performance.now(), answerBegan: false, head, body, isRepeated: false }
    if (this.#isConfused) {
      this.#isConfused = false
      return queueMicrotask(() => this.#finish(0, PROTOCOL))
    }
    if (!this.#socket) this.#connect()
    this.#reader.bodiless = bodiless
    this.#reader.keepsBody = keepsBody
    this.#write(this.#request)
  }

  /** @param {Sent} request */
  #write({ head, body }) {
    const socket = /** @type {net.Socket} */ (this.#socket)
    if (typeof body === 'string') socket.write(head + body, 'latin1')
    else socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
  }

  /** Fails the current request if it was sent at least `timeout_ms` ago. @param {number} timeout_ms @param {number} now_ms */
  expire(timeout_ms, now_ms) {
    if (this.#request && now_ms - this.#request.sentAt_ms >= timeout_ms) this.#finish(0, TIMEOUT)
  }

  /** Closes at once without calling `done`. */
  destroy() {
    this.#request = null
    this.#drop()
  }

  #connect() {
    const { secure, isFresh: _, ...given } = this.#target
    // From a given address, Node tries only the first one of a name, which may be of the other kind.
    const way = given.localAddress ? { ...given, family: net.isIP(given.localAddress) } : given
    const reader = new ResponseReader()
    this.#reader = reader
    const take = (/** @type {Buffer} */ bytes) => this.#take(reader, bytes)
    const callback = (/** @type {number} */ length) => {
      take(READ_BUFFER.subarray(0, length))
      return true
    }
    const socket = secure
      ? tls.connect({ ...way, servername: net.isIP(way.host) ? undefined : way.host, ALPNProtocols: ['http/1.1'] })
      : net.connect({ ...way, onread: { buffer: READ_BUFFER, callback } })
    socket.setNoDelay(true)
    if (secure) socket.on('data', take)
    else socket.resume()
    // The end of the connection may complete a response.
    socket.on('end', () => this.#settle(reader.end()))
    socket.on('error', (error) => this.#lost(socket, sideOfCode(error)))
    socket.on('close', () => this.#lost(socket, null))
    this.#socket = socket
    this.#served = 0
    return socket
  }

  /** @param {ResponseReader} reader @param {Buffer} bytes */
  #take(reader, bytes) {
    if (!this.#request) {
      if (isBlank(bytes)) return
      this.#isConfused = !REQUEST_TIMEOUT.test(bytes.toString('latin1', 0, 13))
      return this.#drop()
    }
    this.#request.answerBegan = true
    const answer = reader.read(bytes)
    if (answer instanceof ProtocolError) this.#finish(0, PROTOCOL)
    else this.#settle(answer)
  }

  /** @param {Answer | null} answer */
  #settle(answer) {
    if (!answer) return
    // The server gave up waiting on this connection while our first request was on its way. It has not read the request, which is
    // therefore sent again on a new connection (RFC 9110, section 15.5.9).
    if (answer.status === 408 && this.#served === 0 && this.#request && !this.#request.isRepeated)
      return this.#repeat(this.#request)
    this.#served++
    if (!answer.keepAlive) this.closings++
    if (!answer.keepAlive || this.#target.isFresh) this.#drop()
    this.#finish(answer.status, null)
  }

  /** @param {Sent} request */
  #repeat(request) {
    const { bodiless, keepsBody } = this.#reader
    this.#drop()
    this.#connect()
    Object.assign(this.#reader, { bodiless, keepsBody })
    Object.assign(request, { answerBegan: false, isRepeated: true })
    this.#write(request)
  }

  /** @param {net.Socket} socket @param {string | null} side null: the connection closed without an error */
  #lost(socket, side) {
    if (socket !== this.#socket) return
    if (!this.#request && this.#served > 0) this.closings++
    const { answerBegan = false, sentAt_ms = 0 } = this.#request ?? {}
    const waited_ms = performance.now() - sentAt_ms
    this.#finish(0, side ?? sideOfEnd({ reused: this.#served > 0, answerBegan, waited_ms }))
  }

  /** @param {number} status @param {string | null} error */
  #finish(status, error) {
    if (error) this.#drop()
    const request = this.#request
    this.#request = null
    request?.done(status, error, this.#reader.keepsBody && !error ? this.#reader.body : undefined)
  }

  #drop() {
    const socket = this.#socket
    this.#socket = null
    socket?.destroy()
  }
}
