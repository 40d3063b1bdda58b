import { isUtf8 } from 'node:buffer'
import { STATUS_CODES } from 'node:http'
import { createBody, takeFromParser } from './body.js'
import { ApiError, PROBLEMS } from './errors.js'

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

/** Allows no parameter except charset=utf-8. */
const JSON_TYPE_MAX_LENGTH = 100
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?;?\s*$/i

/**
 * Reads a JSON body. If it exceeds the limit, Node reads and discards the rest after the answer is sent, so that the client
 * sees its 413; the server's request timeout bounds how long this lasts.
 * @param {IncomingMessage} req @param {number} limitBytes @returns {Promise<unknown>}
 * @throws {ApiError | ClientGone} unsupported_media_type, body_too_large, malformed_json
 */
export function readJson(req, limitBytes) {
  return new Promise((resolve, reject) => {
    const { 'content-type': type, 'content-encoding': encoding, 'content-length': length } = req.headers
    if (!isJson(type) || (encoding ?? 'identity') !== 'identity') throw new ApiError('unsupported_media_type')
    if (Number(length ?? 0) > limitBytes) throw tooLarge(limitBytes)
    const body = createBody(limitBytes)
    const add = (/** @type {Buffer} */ piece) => {
      if (!body.add(piece)) reject(tooLarge(limitBytes))
    }
    const end = () => {
      try {
        resolve(parseJson(body.take()))
      } catch (error) {
        reject(error)
      }
    }
    if (req.headers['transfer-encoding'] === undefined) takeFromParser(req, add, end)
    else req.on('data', add).on('end', end)
    req.on('error', (error) => reject(error instanceof ApiError ? error : new ClientGone()))
  })
}

/** The client closed its connection in mid-request, so nobody is left to answer. */
export class ClientGone extends Error {}

/** @typedef {{ status: number, headers: string[], body: string }} Answer headers: a flat list of name, value, name, value */

/** @param {number} status @param {string} body JSON @param {string[]} headers additional headers @returns {Answer} */
export function json(status, body, headers) {
  return { status, headers: ['Content-Type', 'application/json', ...headers], body }
}

/** Turns an error into its answer: a problem document (RFC 9457). @param {ApiError} error @returns {Answer} */
export function problem(error) {
  const { code, detail, status } = error
  const headers = ['Content-Type', 'application/problem+json', 'Cache-Control', 'no-store', ...error.headers]
  const { title } = PROBLEMS[code]
  return { status, headers, body: JSON.stringify({ type: `urn:redline:problem:${code}`, title, status, code, detail }) }
}

/**
 * Sends an answer as one write of one string. end(body) would hand the socket two pieces, head with body and then an empty one,
 * which Node joins on a slower path: this costs a tenth of a request that stores nothing.
 * (Undocumented: lib/_http_outgoing.js, since 0.x; tested on Node 20 and 26.)
 * @param {ServerResponse & { _send?: (body: string, encoding: BufferEncoding, done: null) => void }} res @param {Answer} answer
 */
export function send(res, { status, headers, body }) {
  headers.push('Content-Length', String(Buffer.byteLength(body)))
  res.writeHead(status, headers)
  if (res._send === undefined || res.req.method === 'HEAD') return res.end(body)
  res._send(body, 'utf8', null)
  res.end()
}

/** Builds a raw problem response, for a connection on which Node could not parse a request. @param {ApiError} error */
export function rawProblem(error) {
  const { status, headers, body } = problem(error)
  headers.push('Content-Length', String(Buffer.byteLength(body)))
  const lines = headers.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('')
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines}\r\n${body}`
}

const tooLarge = (/** @type {number} */ limitBytes) =>
  new ApiError('body_too_large', `expected at most ${limitBytes} bytes`)

/** @param {string | undefined} type */
function isJson(type = '') {
  return type === 'application/json' || (type.length <= JSON_TYPE_MAX_LENGTH && JSON_TYPE.test(type))
}

/** @param {Buffer} bytes */
function parseJson(bytes) {
  // Decoding silently replaces invalid bytes, which would store something that nobody sent.
  if (!isUtf8(bytes)) throw new ApiError('malformed_json', 'expected UTF-8')
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new ApiError('malformed_json')
  }
}
