import { once } from 'node:events'
import net from 'node:net'
import tls from 'node:tls'
import { PROTOCOL, sideOfCode, sideOfEnd, TIMEOUT } from './errors.js'
import { isBlank, ProtocolError, ResponseReader } from './response.js'

/** @import { Answer } from './response.js' */

/** A server may say on an idle connection that it closes it for being idle (RFC 9110, section 15.5.9). */
const REQUEST_TIMEOUT = /^HTTP\/1\.[01] 408 /

/** One buffer for all connections: Node calls back for each read before it reads again. */
const READ_BUFFER = Buffer.allocUnsafeSlow(64 * 1024)

/** @param {(bytes: Buffer) => void} take */
function takeRead(take) {
  return (/** @type {number} */ length, /** @type {Uint8Array} */ buffer) => {
    take(/** @type {Buffer} */ (buffer).subarray(0, length))
    return true
  }
}

/**
 * One HTTP/1.1 connection with one request on it at a time, opened again when it is needed and gone.
 *
 * Raw sockets with a reader of our own, and no HTTP client: at 10,000 requests/s undici 7 cost the generator's core 51 us
 * a request and was 5–7 ms late at p99, raw sockets 27 us and 1.1 ms. A generator that is late measures itself.
 */
export class Connection {
  #target
  #bodiless
  /** @type {net.Socket | null} */
  #socket = null
  #served = 0
  /** The server sent something that nobody asked for. */
  #isConfused = false
  /** @type {{ done: Done, sentAt_ms: number, answerBegan: boolean } | null} */
  #request = null

  /** @param {Target} target @param {{ bodiless: boolean }} options bodiless: answers have no body whatever their headers say (HEAD) */
  constructor(target, { bodiless }) {
    this.#target = target
    this.#bodiless = bodiless
  }

  /** Connects ahead of the first request, which will tell when that fails or takes too long. @param {number} timeout_ms */
  async open(timeout_ms) {
    const socket = this.#connect()
    const timer = setTimeout(() => socket.destroy(), timeout_ms)
    const open = once(socket, this.#target.secure ? 'secureConnect' : 'connect')
    await Promise.race([open, once(socket, 'close')]).catch(() => {})
    clearTimeout(timer)
  }

  /**
   * @param {string} head request line and headers, ending in an empty line
   * @param {string | Buffer} body a string is one byte a character
   * @param {Done} done called once, and not before this returns: with a status, or with the error's side. Where the server
   *   sent an unsolicited response on this connection, the request is not sent and the error is the server's
   */
  send(head, body, done) {
    this.#request = { done, sentAt_ms: performance.now(), answerBegan: false }
    if (this.#isConfused) {
      this.#isConfused = false
      return queueMicrotask(() => this.#finish(0, PROTOCOL))
    }
    const socket = this.#socket ?? this.#connect()
    if (typeof body === 'string') socket.write(head + body, 'latin1')
    else socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body]))
  }

  /** Gives up on a request that was sent at least this long ago. @param {number} timeout_ms @param {number} now_ms */
  expire(timeout_ms, now_ms) {
    if (this.#request && now_ms - this.#request.sentAt_ms >= timeout_ms) this.#finish(0, TIMEOUT)
  }

  /** Closes at once, without telling anyone. */
  destroy() {
    this.#request = null
    this.#drop()
  }

  #connect() {
    const { secure, ...way } = this.#target
    const reader = new ResponseReader({ bodiless: this.#bodiless })
    const take = (/** @type {Buffer} */ bytes) => this.#take(reader, bytes)
    const socket = secure
      ? tls.connect({ ...way, servername: net.isIP(way.host) ? undefined : way.host, ALPNProtocols: ['http/1.1'] })
      : net.connect({ ...way, onread: { buffer: READ_BUFFER, callback: takeRead(take) } })
    socket.setNoDelay(true)
    if (secure) socket.on('data', take)
    else socket.resume()
    // A response may end with the connection.
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
    this.#served++
    if (!answer.keepAlive) this.#drop()
    this.#finish(answer.status, null)
  }

  /** @param {net.Socket} socket @param {string | null} side null: it ended without an error */
  #lost(socket, side) {
    if (socket !== this.#socket) return
    const answerBegan = this.#request?.answerBegan ?? false
    this.#finish(0, side ?? sideOfEnd({ reused: this.#served > 0, answerBegan }))
  }

  /** @param {number} status @param {string | null} error */
  #finish(status, error) {
    if (error) this.#drop()
    const request = this.#request
    this.#request = null
    request?.done(status, error)
  }

  #drop() {
    const socket = this.#socket
    this.#socket = null
    socket?.destroy()
  }
}

/**
 * @typedef {{ host: string, port: number, secure: boolean, localAddress?: string }} Target localAddress: where it comes from
 * @typedef {(status: number, error: string | null) => void} Done status 0 with an error
 */
