/**
 * The parts of Postgres' protocol (version 3) that pg speaks: what a server reads and writes. See "Message Formats" in
 * the Postgres manual.
 */

const TEXT_OID = 25

/**
 * Takes complete messages off the front of `bytes`.
 * @param {Buffer} bytes
 * @param {boolean} isStarting whether the first message is still to come, which alone has no type
 * @returns {{ messages: FrontendMessage[], rest: Buffer }}
 */
export function readMessages(bytes, isStarting) {
  /** @type {FrontendMessage[]} */
  const messages = []
  let at = 0
  for (;;) {
    const head = isStarting ? 0 : 1
    if (bytes.length < at + head + 4) break
    const end = at + head + bytes.readInt32BE(at + head)
    if (bytes.length < end) break
    const type = isStarting ? 'startup' : String.fromCharCode(bytes[at])
    messages.push(decode(type, bytes.subarray(at + head + 4, end)))
    isStarting = false
    at = end
  }
  return { messages, rest: bytes.subarray(at) }
}

/** @param {string} type @param {Buffer} body @returns {FrontendMessage} */
function decode(type, body) {
  if (type === 'startup') {
    const words = body.toString('utf8', 4).split('\0')
    return { type, statementTimeout_ms: Number(words[words.indexOf('statement_timeout') + 1]) }
  }
  if (type === 'P') {
    const [name, text] = body.toString().split('\0')
    return { type, name, text }
  }
  return type === 'B' ? decodeBind(body) : { type }
}

/** @param {Buffer} body @returns {FrontendMessage} */
function decodeBind(body) {
  const portalEnd = body.indexOf(0)
  const nameEnd = body.indexOf(0, portalEnd + 1)
  const name = body.toString('utf8', portalEnd + 1, nameEnd)
  let at = nameEnd + 1
  at += 2 + 2 * body.readInt16BE(at)
  const count = body.readInt16BE(at)
  at += 2
  const values = []
  for (let i = 0; i < count; i++) {
    const length = body.readInt32BE(at)
    values.push(body.subarray(at + 4, at + 4 + length))
    at += 4 + length
  }
  return { type: 'B', name, values }
}

/**
 * The texts of a text[] in binary format.
 * @param {Buffer} bytes
 * @returns {string[]}
 */
export function readTextArray(bytes) {
  const texts = []
  for (let at = 20; at < bytes.length; ) {
    const length = bytes.readInt32BE(at)
    texts.push(bytes.toString('utf8', at + 4, at + 4 + length))
    at += 4 + length
  }
  return texts
}

/** @param {string} type @param {...(Buffer | string)} parts */
function message(type, ...parts) {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** @param {...number} values */
function int16(...values) {
  const bytes = Buffer.alloc(2 * values.length)
  values.forEach((value, i) => void bytes.writeInt16BE(value, 2 * i))
  return bytes
}

/** @param {...number} values */
function int32(...values) {
  const bytes = Buffer.alloc(4 * values.length)
  values.forEach((value, i) => void bytes.writeInt32BE(value, 4 * i))
  return bytes
}

export const READY = message('Z', 'I')
export const PARSED = message('1')
export const BOUND = message('2')

/** What a login that succeeds is answered with. */
export const WELCOME = Buffer.concat([
  message('R', int32(0)),
  message('S', 'server_version\0', '18.0\0'),
  message('K', int32(1, 1)),
  READY,
])

/** AuthenticationSASL, with a mechanism that pg does not know. */
export const UNKNOWN_MECHANISM = message('R', int32(10), 'OAUTHBEARER\0\0')

/** @param {ServerError} error */
export const errorResponse = (error) => fields('E', error)

/** @param {ServerError} notice */
export const noticeResponse = (notice) => fields('N', notice)

/** @param {string} type @param {ServerError} error */
function fields(type, { severity, code, routine = '', table = '' }) {
  const all = { S: severity, V: severity, C: code, M: `simulated ${code}`, R: routine, t: table }
  return message(type, ...Object.entries(all).map(([key, value]) => `${key}${value}\0`), '\0')
}

/**
 * The answer to an Execute.
 * @param {{ tag: string, columns: string[], rows: (string | null)[][], count?: number }} result
 */
export function resultOf({ tag, columns, rows, count = rows.length }) {
  const description = columns.map((name) =>
    Buffer.concat([Buffer.from(`${name}\0`), int32(0), int16(0), int32(TEXT_OID), int16(-1), int32(-1), int16(0)]),
  )
  const data = rows.map((row) => {
    const values = row.map((value) =>
      value === null ? int32(-1) : Buffer.concat([int32(value.length), Buffer.from(value)]),
    )
    return message('D', int16(row.length), ...values)
  })
  const described = columns.length > 0 ? message('T', int16(columns.length), ...description) : message('n')
  return Buffer.concat([described, ...data, message('C', `${tag} ${count}\0`)])
}

/**
 * @typedef {object} FrontendMessage
 * @property {string} type its letter, or `startup`
 * @property {string} [name] of a prepared statement
 * @property {string} [text] SQL
 * @property {Buffer[]} [values]
 * @property {number} [statementTimeout_ms]
 * @typedef {{ severity: string, code: string, routine?: string, table?: string }} ServerError
 */
