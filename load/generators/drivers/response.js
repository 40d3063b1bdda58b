/** Limit on a response's headers plus its interim responses (1xx), on its trailers, and on each chunk-size line; Node: 16 KiB. */
const TEXT_MAX_BYTES = 64 * 1024

const STATUS_LINE = /^HTTP\/1\.(\d) ([1-9]\d\d)(?: [\t -~\x80-\xff]*)?\r\n$/
const FIELD = /^([!#$%&'*+.^_`|~\w-]+):([\t -~\x80-\xff]*)\r\n$/
const FOLD = /^[ \t]([\t -~\x80-\xff]*)\r\n$/
const CHUNK_SIZE = /^([\da-f]+)[ \t]*(?:;[\t -~\x80-\xff]*)?\r\n$/i
const BLANK = /^[\r\n]*$/
const LF = 10
const HEAD_END = Buffer.of(13, 10, 13, 10)
/** Headers that determine the response's end and the connection's reuse. */
const DECISIVE = /^(?:connection|content-length|transfer-encoding)$/i

/** Limits of the fast path: on the number of shapes, and on the length of a head. */
const SHAPES_MAX = 16
const PLAIN_HEAD_BYTES = 1024
/**
 * Pattern of the head of a response that arrived in one piece: headers that do not matter may have other values. hasBody: the first
 * group captures the length of the body.
 * @typedef {{ pattern: RegExp, answer: Answer, hasBody: boolean }} Shape
 */
const SHAPES = /** @type {Shape[]} */ ([])
const SHAPES_BODILESS = /** @type {Shape[]} */ ([])
/** Maximum length of a body that is kept. */
const BODY_MAX_BYTES = 1 << 20

/** @typedef {{ status: number, keepAlive: boolean }} Answer keepAlive: the connection can carry another request */

/** The bytes received were not a valid HTTP/1.1 response. */
export class ProtocolError extends Error {}

/**
 * Reads responses on one connection with one outstanding request: their status, their end (RFC 9112, section 6.3) and
 * whether the connection can be reused. Bodies are skipped unless asked for.
 *
 * Malformed responses are rejected. A generator that guesses where such a response ends reports a broken service as
 * working, or never finishes: http-parser-js accepts `Content-Length: abc` and loops forever on a chunk size of -5.
 * Node's own parser is only available through its HTTP clients, which cost twice the CPU (see connection.js).
 *
 * Most responses resemble earlier ones, so there is a fast path: one pattern is matched if the head has the same headers as an earlier
 * one, and exactly the announced body follows it. All others are read by a coroutine that yields when it needs more bytes.
 */
export class ResponseReader {
  /** Whether the next response has no body, whatever its headers say (HEAD). */
  bodiless
  /** Whether to keep the body of the next response. */
  keepsBody = false
  #shapes
  /** @type {Buffer[]} */
  #kept = []
  #keptBytes = 0
  /** Reads the current response; null between responses. @type {Generator<void, { answer: Answer, body_bytes: number | null }> | null} */
  #reading = null
  /** Bytes that arrived last. @type {Buffer} */
  #bytes = Buffer.of()
  /** Number of these bytes already read. */
  #at = 0
  #textBytes = 0
  /** Answer whose body lasts until the connection closes. @type {Answer | null} */
  #untilClose = null

  /**
   * @param {{ bodiless?: boolean, shapes?: Shape[] }} [options] shapes: known ones, to which it adds its own; by default, all readers
   *   share them
   */
  constructor({ bodiless = false, shapes } = {}) {
    this.bodiless = bodiless
    this.#shapes = shapes
  }

  /** Body of the last response, if it was kept; empty if it was too long. */
  get body() {
    return this.#keptBytes > BODY_MAX_BYTES ? '' : Buffer.concat(this.#kept).toString()
  }

  /**
   * @param {Buffer} bytes as they arrive
   * @returns {Answer | ProtocolError | null} null: the response is incomplete; an error: the connection is unusable
   */
  read(bytes) {
    const isFirst = this.#reading === null
    const shapes = this.#shapes ?? (this.bodiless ? SHAPES_BODILESS : SHAPES)
    const known = isFirst && !this.keepsBody ? knownAnswer(shapes, bytes) : null
    if (known) return known
    if (isFirst) this.#keep(null)
    try {
      const found = this.#readOn(bytes)
      if (!found) return null
      const { answer, body_bytes } = found
      if (isFirst && body_bytes !== null && shapes.length < SHAPES_MAX) {
        const shape = shapeOf(bytes, answer, this.#mayHaveBody(answer.status) ? body_bytes : null)
        if (shape) shapes.push(shape)
      }
      return answer
    } catch (error) {
      if (error instanceof ProtocolError) return error
      throw error
    }
  }

  /** Called when the server closes the connection. @returns {Answer | null} the response that this completes, if any */
  end() {
    return this.#untilClose
  }

  /** @param {Buffer} bytes */
  #readOn(bytes) {
    this.#bytes = bytes
    this.#at = 0
    this.#reading ??= this.#response()
    const { done, value } = this.#reading.next()
    if (!done) return null
    this.#reading = null
    if (isBlank(bytes.subarray(this.#at))) return value
    throw new ProtocolError('expected the end of the response, got more bytes')
  }

  /** Reads a response, with its body as RFC 9112, section 6.3, delimits it; body_bytes: null if unknown in advance. */
  *#response() {
    const { status, minor, fields } = yield* this.#head()
    const { connection, 'content-length': length, 'transfer-encoding': codings } = fields
    if (length !== undefined && codings !== undefined)
      throw new ProtocolError('expected one length, got two kinds of it')
    const body_bytes = length === undefined ? 0 : lengthOf(length)
    const options = listOf(connection ?? '')
    const keeps = minor !== '0' || (options.includes('keep-alive') && codings === undefined)
    const answer = { status, keepAlive: keeps && !options.includes('close') }
    if (!this.#mayHaveBody(status)) return { answer, body_bytes: 0 }
    if (codings !== undefined && isChunked(codings)) {
      yield* this.#chunks()
      return { answer, body_bytes: null }
    }
    if (length !== undefined) {
      yield* this.#skip(body_bytes)
      return { answer, body_bytes }
    }
    this.#untilClose = { status, keepAlive: false }
    for (;;) {
      this.#keep(this.#bytes.subarray(this.#at))
      yield
    }
  }

  /** @param {number} status */
  #mayHaveBody(status) {
    return !this.bodiless && status !== 204 && status !== 304
  }

  /** Reads the head of the response that follows any interim ones. */
  *#head() {
    this.#textBytes = 0
    for (;;) {
      let line = yield* this.#line()
      // Empty lines between responses may be ignored (RFC 9112, section 9.2).
      while (BLANK.test(line)) line = yield* this.#line()
      const [, minor, status] = STATUS_LINE.exec(line) ?? []
      if (status === undefined) throw expected('a status line', line)
      const fields = yield* this.#fields()
      if (status === '101') throw new ProtocolError('expected HTTP/1.1, got a switch to another protocol')
      if (Number(status) >= 200) return { status: Number(status), minor, fields }
    }
  }

  /** Reads headers up to the empty line, and returns the decisive ones. */
  *#fields() {
    /** @type {Record<string, string>} */
    const fields = {}
    let last = ''
    for (let line = yield* this.#line(); line !== '\r\n'; line = yield* this.#line()) {
      const field = FIELD.exec(line)
      const fold = last === '' ? null : FOLD.exec(line)
      if (!field && !fold) throw expected('a header', line)
      if (field) last = field[1]
      if (!DECISIVE.test(last)) continue
      const name = last.toLowerCase()
      if (field) fields[name] = name in fields ? `${fields[name]}, ${field[2].trim()}` : field[2].trim()
      if (fold) fields[name] += ` ${fold[1].trim()}`
    }
    return fields
  }

  *#chunks() {
    for (;;) {
      this.#textBytes = 0
      const line = yield* this.#line()
      const size = Number.parseInt(CHUNK_SIZE.exec(line)?.[1] ?? '', 16)
      if (!Number.isSafeInteger(size)) throw expected('the size of a chunk', line)
      if (size === 0) break
      yield* this.#skip(size)
      const end = yield* this.#line()
      if (end !== '\r\n') throw expected('the end of a chunk', end)
    }
    for (let line = yield* this.#line(); line !== '\r\n'; line = yield* this.#line()) {
      if (!FIELD.test(line) && !FOLD.test(line)) throw expected('a trailer', line)
    }
  }

  /** Reads a line including its line break. @returns {Generator<void, string>} */
  *#line() {
    for (let text = ''; ; ) {
      const next = this.#bytes.indexOf(LF, this.#at) + 1 || this.#bytes.length
      this.#textBytes += next - this.#at
      if (this.#textBytes > TEXT_MAX_BYTES)
        throw new ProtocolError(`expected at most ${TEXT_MAX_BYTES} bytes of headers`)
      text += this.#bytes.toString('latin1', this.#at, next)
      this.#at = next
      if (text.endsWith('\n')) return text
      yield
    }
  }

  /** @param {Buffer | null} part of a body; null: a new body begins */
  #keep(part) {
    if (part === null) this.#kept = []
    this.#keptBytes = part === null ? 0 : this.#keptBytes + part.length
    // The copy is necessary, since the connection reuses the buffer.
    if (part && this.keepsBody && this.#keptBytes <= BODY_MAX_BYTES) this.#kept.push(Buffer.from(part))
  }

  /** @param {number} bytes */
  *#skip(bytes) {
    for (let left = bytes; ; ) {
      const skipped = Math.min(left, this.#bytes.length - this.#at)
      this.#keep(this.#bytes.subarray(this.#at, this.#at + skipped))
      this.#at += skipped
      left -= skipped
      if (left === 0) return
      yield
    }
  }
}

/** Returns the answer of a response with a known shape; null: the response has to be read. @param {Shape[]} shapes @param {Buffer} bytes */
function knownAnswer(shapes, bytes) {
  const text = bytes.toString('latin1', 0, PLAIN_HEAD_BYTES)
  for (const { pattern, answer, hasBody } of shapes) {
    pattern.lastIndex = 0
    const found = pattern.exec(text)
    if (found && pattern.lastIndex + (hasBody ? Number(found[1]) : 0) === bytes.length) return answer
  }
  return null
}

/**
 * @param {Buffer} bytes a valid response @param {Answer} answer @param {number | null} body_bytes null: no body, whatever its headers say
 * @returns {Shape | null} null: the fast path cannot read it
 */
function shapeOf(bytes, answer, body_bytes) {
  const head_bytes = bytes.indexOf(HEAD_END) + HEAD_END.length
  if (head_bytes > PLAIN_HEAD_BYTES || head_bytes + (body_bytes ?? 0) !== bytes.length) return null
  const [status, ...fields] = bytes.toString('latin1', 0, head_bytes - 2).split(/(?<=\n)/)
  const names = fields.map((line) => FIELD.exec(line)?.[1].toLowerCase())
  const lengths = names.filter((name) => name === 'content-length').length
  if (!STATUS_LINE.test(status) || names.includes(undefined) || lengths > 1) return null
  const patterns = fields.map((line, i) => {
    const name = literal(line.slice(0, names[i]?.length))
    if (names[i] === 'content-length') return `${name}:[ \\t]*(\\d{1,9})[ \\t]*\\r\\n`
    return DECISIVE.test(String(names[i])) ? literal(line) : `${name}:[\\t -~\\x80-\\xff]*\\r\\n`
  })
  const pattern = new RegExp(`${literal(status)}${patterns.join('')}\\r\\n`, 'y')
  return { pattern, answer, hasBody: lengths === 1 && body_bytes !== null }
}

/** Escapes a text, so that the pattern matches this text and nothing else. @param {string} text */
function literal(text) {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

/** Returns whether the bytes are only line breaks, which a client may ignore between responses. @param {Buffer} bytes */
export function isBlank(bytes) {
  return bytes.length <= TEXT_MAX_BYTES && BLANK.test(bytes.toString('latin1'))
}

/** @param {string} value from Content-Length: a number, possibly repeated */
function lengthOf(value) {
  const [first, ...others] = listOf(value)
  const length = /^\d+$/.test(first) ? Number(first) : Number.NaN
  if (Number.isSafeInteger(length) && others.every((other) => other === first)) return length
  throw expected('a Content-Length', value)
}

/** @param {string} value from Transfer-Encoding */
function isChunked(value) {
  const codings = listOf(value)
  if (codings.slice(0, -1).includes('chunked')) throw expected('chunked as the last coding', value)
  return codings.at(-1) === 'chunked'
}

/** @param {string} value */
function listOf(value) {
  const items = value.toLowerCase().split(',')
  return items.map((one) => one.trim())
}

/** @param {string} what @param {string} got */
function expected(what, got) {
  return new ProtocolError(`expected ${what}, got ${JSON.stringify(got.slice(0, 80))}`)
}
