/** Whose error was it? What no row knows is `unknown:` and the code, never the server's fault. */

/** Codes of Node's sockets (errno(3), and those of its own). @type {Record<string, string>} */
const BY_CODE = {
  EADDRNOTAVAIL: 'client:ports',
  EADDRINUSE: 'client:ports',
  EMFILE: 'client:nofile',
  ENFILE: 'client:nofile',
  ENOBUFS: 'client:memory',
  ENOTFOUND: 'client:dns',
  EAI_AGAIN: 'client:dns',
  ECONNREFUSED: 'server:refused',
  ECONNRESET: 'server:reset',
  EPIPE: 'server:reset',
  ETIMEDOUT: 'network:timeout',
  EHOSTUNREACH: 'network:unreachable',
  ENETUNREACH: 'network:unreachable',
}

/** OpenSSL's and Node's names for a TLS handshake that failed or a certificate that does not hold. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO)/

/** Go's net and net/http, as vegeta prints them. The first that fits counts. @type {[RegExp, string][]} */
const BY_TEXT = [
  [/address already in use|cannot assign requested address/, 'client:ports'],
  [/too many open files/, 'client:nofile'],
  [/Client\.Timeout|deadline exceeded|i\/o timeout/, 'client:timeout'],
  [/no such host|server misbehaving/, 'client:dns'],
  [/connection refused/, 'server:refused'],
  [/connection reset|broken pipe/, 'server:reset'],
  [/server closed idle connection/, 'server:closed-idle'],
  [/EOF/, 'server:closed'],
  [/malformed (HTTP|MIME|chunked)|transport connection broken|chunk length|chunk extension/, 'server:protocol'],
  [/unexpected .*(chunk|transfer encoding)|too many 1xx|response headers exceeded/, 'server:protocol'],
  [/x509:|tls:/, 'server:tls'],
  [/no route to host|network is unreachable/, 'network:unreachable'],
]

/** The client waited for an answer as long as it was told to. */
export const TIMEOUT = 'client:timeout'
/** Due, but every connection was busy until the client's patience ended: it never left. */
export const UNSENT = 'client:unsent'
/** The response was malformed, endless, or not HTTP at all. */
export const PROTOCOL = 'server:protocol'

/** @param {{ code?: string, message?: string }} error of a Node socket @returns {string} side and kind */
export function sideOfCode(error) {
  const code = error.code ?? ''
  if (code in BY_CODE) return BY_CODE[code]
  if (TLS_CODE.test(code)) return 'server:tls'
  // Node's own HTTP parser.
  if (code.startsWith('HPE_')) return PROTOCOL
  return `unknown:${code || error.message || 'error'}`
}

/**
 * The server ended the connection while a request was on it: after an earlier one this is the race with its keep-alive
 * timeout; on a fresh connection, it did not want us.
 *
 * @param {{ reused: boolean, answerBegan: boolean }} connection
 */
export function sideOfEnd({ reused, answerBegan }) {
  return reused && !answerBegan ? 'server:closed-idle' : 'server:closed'
}

/** @param {string} text vegeta's error, when there was no answer @returns {string} side and kind */
export function sideOfText(text) {
  return BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? `unknown:${text.slice(0, 80)}`
}
