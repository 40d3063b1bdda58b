/** Limit on a response's headers plus its interim responses (1xx), on its trailers, and on each chunk-size line; Node: 16 KiB. */
const TEXT_MAX_BYTES = 64 * 1024

const STATUS_LINE = /^HTTP\/1\.(\d) ([1-9]\d\d)(?: [\t -~\x80-\xff]*)?\r\n$/
const FIELD = /^([!#$%&'*+.^_`|~\w-]+):([\t -~\x80-\xff]*)\r\n$/
const FOLD = /^[ \t]([\t -~\x80-\xff]*)\r\n$/
const CHUNK_SIZE = /^([\da-f]+)[ \t]*(?:;[\t -~\x80-\xff]*)?\r\n$/i
const BLANK = /^[\r\n]*$/
const LF = 10
const HEAD_END = Buffer.of(13, 10, 13, 10)
/** Limit on remembered heads: those of a service usually differ only in Date, which changes once a second. */
const PLAIN_MAX = 16
const NO_FIELDS = { connection: null, 'content-length': null, 'transfer-encoding': null }

/**
 * Reads responses on one connection with one outstanding request: their status, their end (RFC 9112, section 6.3) and
 * whether the connection can be reused. Bodies are skipped, never stored.
 *
 * Malformed responses are rejected. A generator that guesses where such a response ends reports a broken service as
 * working, or never finishes: http-parser-js accepts `Content-Length: abc` and loops forever on a chunk size of -5.
 * Node's own parser is only available through its HTTP clients, which cost twice the CPU (see connection.js).
 *
 * Most responses resemble earlier ones, so there is a fast path: nothing is parsed if the head is known and exactly the
 * announced body follows it.
 */
export class ResponseReader {
  #bodiless
  /** @type {State} */
  #state = 'status'
  /** Incomplete line received so far. */
  #text = ''
  #textBytes = 0
  /** Bytes of the body or chunk still to come. */
  #left = 0
  #status = 0
  /** Minor digit of the HTTP version. */
  #minor = ''
  /** Headers that determine the response's end and the connection's reuse. @type {Record<string, string | null>} */
  #fields = NO_FIELDS
  #lastField = ''

  /** @param {{ bodiless?: boolean }} [options] bodiless: responses have no body whatever their headers say (HEAD) */
  constructor({ bodiless = false } = {}) {
    this.#bodiless = bodiless
  }

  /**
   * @param {Buffer} bytes as they arrive
   * @returns {Answer | ProtocolError | null} null: the response is incomplete; an error: the connection is unusable
   */
  read(bytes) {
    const head = this.#state === 'status' && this.#text === '' ? headOf(bytes) : null
    if (head === null) return this.#readOn(bytes)
    const plain = this.#bodiless ? PLAIN_BODILESS : PLAIN
    const known = plain.get(head)
    if (known?.bytes === bytes.length) return known.answer
    const answer = this.#readOn(bytes)
    if (answer && 'status' in answer && this.#isWhole(head, bytes))
      remember(plain, head, { answer, bytes: bytes.length })
    return answer
  }

  /** @param {Buffer} bytes @returns {Answer | ProtocolError | null} */
  #readOn(bytes) {
    try {
      let at = 0
      while (at < bytes.length && this.#state !== 'done') at = this.#step(bytes, at)
      if (this.#state !== 'done') return null
      if (at === bytes.length || isBlank(bytes.subarray(at))) return this.#answer(this.#keepsAlive())
      return new ProtocolError('expected the end of the response, got more bytes')
    } catch (error) {
      if (error instanceof ProtocolError) return error
      throw error
    }
  }

  /** Whether these bytes are exactly one response whose head determines its length. @param {string} head @param {Buffer} bytes */
  #isWhole(head, bytes) {
    const { 'content-length': length, 'transfer-encoding': codings } = this.#fields
    const isBodiless = this.#bodiless || this.#status === 204 || this.#status === 304
    return codings === null && bytes.length === head.length + (isBodiless ? 0 : Number(length))
  }

  /** Called when the server closes the connection. @returns {Answer | null} the response that this completes, if any */
  end() {
    return this.#state === 'until-close' ? this.#answer(false) : null
  }

  /** @param {boolean} keepAlive */
  #answer(keepAlive) {
    this.#enter('status')
    return { status: this.#status, keepAlive }
  }

  /** @param {Buffer} bytes @param {number} at @returns {number} start of the next step, greater than `at` */
  #step(bytes, at) {
    if (this.#state === 'until-close') return bytes.length
    if (this.#state === 'body' || this.#state === 'chunk') {
      const skipped = Math.min(this.#left, bytes.length - at)
      this.#left -= skipped
      if (this.#left === 0) this.#enter(this.#state === 'body' ? 'done' : 'chunk-end')
      return at + skipped
    }
    const next = bytes.indexOf(LF, at) + 1 || bytes.length
    this.#textBytes += next - at
    if (this.#textBytes > TEXT_MAX_BYTES) throw new ProtocolError(`expected at most ${TEXT_MAX_BYTES} bytes of headers`)
    const text = this.#text + bytes.toString('latin1', at, next)
    const isWhole = bytes[next - 1] === LF
    this.#text = isWhole ? '' : text
    if (isWhole) this.#takeLine(text)
    return next
  }

  /** @param {string} line including its line break */
  #takeLine(line) {
    switch (this.#state) {
      case 'status':
        // Empty lines between responses may be ignored (RFC 9112, section 9.2).
        return BLANK.test(line) ? undefined : this.#beginHead(line)
      case 'fields':
        return line === '\r\n' ? this.#endHead() : this.#addField(line)
      case 'chunk-size':
        this.#left = chunkSizeOf(line)
        return this.#enter(this.#left === 0 ? 'trailers' : 'chunk')
      case 'chunk-end':
        if (line !== '\r\n') throw expected('the end of a chunk', line)
        return this.#enter('chunk-size')
      case 'trailers':
        if (line === '\r\n') return this.#enter('done')
        if (!FIELD.test(line) && !FOLD.test(line)) throw expected('a trailer', line)
    }
  }

  /** @param {string} line */
  #beginHead(line) {
    const [, minor, status] = STATUS_LINE.exec(line) ?? []
    if (status === undefined) throw expected('a status line', line)
    this.#minor = minor
    this.#status = Number(status)
    this.#fields = { ...NO_FIELDS }
    this.#lastField = ''
    this.#state = 'fields'
  }

  /** @param {string} line */
  #addField(line) {
    const [, name, value] = FIELD.exec(line) ?? []
    if (name === undefined) return this.#foldField(line)
    this.#lastField = name
    // Comparing lengths is cheaper than lower-casing every name.
    if (name.length !== 10 && name.length !== 14 && name.length !== 17) return
    this.#lastField = name.toLowerCase()
    if (!Object.hasOwn(this.#fields, this.#lastField)) return
    const before = this.#fields[this.#lastField]
    this.#fields[this.#lastField] = before === null ? value.trim() : `${before}, ${value.trim()}`
  }

  /** @param {string} line */
  #foldField(line) {
    const fold = this.#lastField === '' ? null : FOLD.exec(line)
    if (!fold) throw expected('a header', line)
    if (Object.hasOwn(this.#fields, this.#lastField)) this.#fields[this.#lastField] += ` ${fold[1].trim()}`
  }

  /** Determines how the body is delimited (RFC 9112, section 6.3). */
  #endHead() {
    if (this.#status === 101) throw new ProtocolError('expected HTTP/1.1, got a switch to another protocol')
    if (this.#status < 200) {
      this.#state = 'status'
      return
    }
    const { 'content-length': length, 'transfer-encoding': codings } = this.#fields
    if (length !== null && codings !== null) throw new ProtocolError('expected one length, got two kinds of it')
    this.#left = length === null ? 0 : lengthOf(length)
    if (this.#bodiless || this.#status === 204 || this.#status === 304) return this.#enter('done')
    if (codings !== null) return this.#enter(isChunked(codings) ? 'chunk-size' : 'until-close')
    if (length === null) return this.#enter('until-close')
    this.#enter(this.#left === 0 ? 'done' : 'body')
  }

  #keepsAlive() {
    const { connection, 'transfer-encoding': codings } = this.#fields
    const options = connection === null ? [] : listOf(connection)
    if (options.includes('close')) return false
    return this.#minor !== '0' || (options.includes('keep-alive') && codings === null)
  }

  /** @param {State} state */
  #enter(state) {
    this.#state = state
    this.#textBytes = 0
  }
}

/**
 * Responses that arrived in one piece, by head.
 *
 * @typedef {Map<string, { answer: Answer, bytes: number }>} Plain bytes: total length of head and body
 */
const PLAIN = /** @type {Plain} */ (new Map())
const PLAIN_BODILESS = /** @type {Plain} */ (new Map())

/** @param {Plain} plain @param {string} head @param {{ answer: Answer, bytes: number }} known */
function remember(plain, head, known) {
  if (plain.size === PLAIN_MAX) plain.clear()
  plain.set(head, known)
}

/** The response head including its final empty line; null if that is missing or too far away. @param {Buffer} bytes */
function headOf(bytes) {
  const at = bytes.indexOf(HEAD_END)
  return at === -1 || at > TEXT_MAX_BYTES ? null : bytes.toString('latin1', 0, at + HEAD_END.length)
}

/** The bytes received were not a valid HTTP/1.1 response. */
export class ProtocolError extends Error {}

/** Whether the bytes are only line breaks, which a client may ignore between responses. @param {Buffer} bytes */
export function isBlank(bytes) {
  return bytes.length <= TEXT_MAX_BYTES && BLANK.test(bytes.toString('latin1'))
}

/** @param {string} value of Content-Length: a number, possibly repeated */
function lengthOf(value) {
  const [first, ...others] = value.split(',').map((one) => one.trim())
  const length = /^\d+$/.test(first) ? Number(first) : Number.NaN
  if (!Number.isSafeInteger(length) || others.some((other) => other !== first)) {
    throw expected('a Content-Length', value)
  }
  return length
}

/** @param {string} line */
function chunkSizeOf(line) {
  const [, digits = ''] = CHUNK_SIZE.exec(line) ?? []
  const size = Number.parseInt(digits, 16)
  if (!Number.isSafeInteger(size)) throw expected('the size of a chunk', line)
  return size
}

/** @param {string} value of Transfer-Encoding */
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

/**
 * @typedef {'status' | 'fields' | 'body' | 'until-close' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailers' | 'done'} State
 * @typedef {{ status: number, keepAlive: boolean }} Answer keepAlive: the connection can carry another request
 */
