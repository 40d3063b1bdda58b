import { createRequire } from 'node:module'
import { ProtocolError, ResponseReader } from '../response.js'

/** Names of the callbacks that a client gives its parser. */
const { HTTPParser } = createRequire(createRequire(import.meta.url).resolve('autocannon'))('http-parser-js')
const ON_HEADERS_COMPLETE = HTTPParser.kOnHeadersComplete
const ON_MESSAGE_COMPLETE = HTTPParser.kOnMessageComplete

/**
 * Stands in for the parser of one of autocannon's clients, http-parser-js: a malformed chunk size sends that into an endless
 * loop, it takes malformed lengths for valid ones, autocannon ignores its errors, and it is never told that a connection
 * ended.
 *
 * @param {any} client autocannon's, before it has connected
 * @param {() => void} onMalformed its connection can no longer be used
 */
export function createParser(client, onMalformed) {
  let reader = new ResponseReader()
  let conn = client.conn
  /** @type {Record<string | number, any>} */
  const parser = {
    /** @param {Buffer} bytes */
    execute(bytes) {
      if (client.conn !== conn) {
        conn = client.conn
        reader = new ResponseReader()
      }
      const answer = reader.read(bytes)
      if (answer instanceof ProtocolError) return onMalformed()
      if (answer === null) return
      parser[ON_HEADERS_COMPLETE]({ statusCode: answer.status, shouldKeepAlive: answer.keepAlive, headers: [] })
      parser[ON_MESSAGE_COMPLETE]()
    },

    /** The connection ended. @returns {number | null} status of the response that ended with it; null: there is none */
    end: () => reader.end()?.status ?? null,
  }
  return parser
}
