import net from 'node:net'
import tls from 'node:tls'
import httpParser from 'http-parser-js'
import { PROTOCOL, sideOfCode, sideOfEnd, TIMEOUT } from './errors.js'

const { HTTPParser } = httpParser
const ON_HEADERS_COMPLETE = HTTPParser.kOnHeadersComplete | 0
const ON_BODY = HTTPParser.kOnBody | 0
const ON_MESSAGE_COMPLETE = HTTPParser.kOnMessageComplete | 0

/**
 * One HTTP/1.1 connection with one request on it at a time, opened again when it is needed and gone.
 *
 * Raw sockets under a parser that is kept by others, and no HTTP client: at 10,000 requests/s undici 7 cost the
 * generator's core 51 us a request and was 5–7 ms late at p99, this 27 us and 1.1 ms. A generator that is late measures
 * itself.
 */
export class Connection {
  #target
  #bodiless
  /** @type {net.Socket | null} */
  #socket = null
  #served = 0
  /** @type {{ done: Done, sentAt_ms: number, answerBegan: boolean, status: number } | null} */
  #request = null

  /**
   * @param {Target} target
   * @param {{ bodiless: boolean }} options bodiless: answers have no body whatever their headers say (HEAD)
   */
  constructor(target, { bodiless }) {
    this.#target = target
    this.#bodiless = bodiless
  }

  /**
   * Connects ahead of the first request.
   *
   * @param {number} timeout_ms
   * @returns {Promise<void>} also when it failed, or took too long: the first request will tell
   */
  open(timeout_ms) {
    return new Promise((resolve) => {
      const socket = this.#connect()
      const timer = setTimeout(() => socket.destroy(), timeout_ms)
      socket.once(this.#target.secure ? 'secureConnect' : 'connect', settle)
      socket.once('close', settle)

      function settle() {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  /**
   * @param {string} head request line and headers, ending in an empty line
   * @param {string | Buffer} body a string is one byte a character
   * @param {Done} done called once: with a status, or with the error's side
   */
  send(head, body, done) {
    this.#request = { done, sentAt_ms: performance.now(), answerBegan: false, status: 0 }
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
    const socket = secure
      ? tls.connect({ ...way, servername: net.isIP(way.host) ? undefined : way.host, ALPNProtocols: ['http/1.1'] })
      : net.connect(way)
    const parser = this.#parser()
    socket.setNoDelay(true)
    socket.on('data', (chunk) => {
      if (this.#request) this.#request.answerBegan = true
      if (parser.execute(chunk) instanceof Error) this.#finish(0, PROTOCOL)
    })
    // An answer may end with the connection: the parser decides.
    socket.on('end', () => parser.finish())
    socket.on('error', (error) => this.#lost(socket, sideOfCode(error)))
    socket.on('close', () => this.#lost(socket, null))
    this.#socket = socket
    this.#served = 0
    return socket
  }

  #parser() {
    const parser = /** @type {any} */ (new HTTPParser(HTTPParser.RESPONSE))
    let last = false
    parser[ON_HEADERS_COMPLETE] = (/** @type {any} */ info) => {
      if (this.#request) this.#request.status = info.statusCode
      last = !info.shouldKeepAlive
      return this.#bodiless
    }
    parser[ON_BODY] = () => {}
    parser[ON_MESSAGE_COMPLETE] = () => {
      const status = this.#request?.status ?? 0
      // 1xx is a word on the way, not the answer.
      if (status < 200) return
      this.#served++
      if (last) this.#drop()
      this.#finish(status, null)
    }
    return parser
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
