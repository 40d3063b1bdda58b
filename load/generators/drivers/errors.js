/** Attributes errors to a side. An error that matches no row becomes `unknown:` and its code, never the server's fault. */

/** Codes of Node's sockets (errno(3), and Node's own). @type {Record<string, string>} */
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

/** OpenSSL's and Node's codes for a failed TLS handshake or an invalid certificate. */
const TLS_CODE = /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|EPROTO)/

/** Errors of Go's net and net/http, as vegeta prints them. The first match wins. @type {[RegExp, string][]} */
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
  [/unexpected .*(chunk|transfer encoding)|too many 1xx/, 'server:protocol'],
  [/response headers exceeded|header line too long|long trailer/, 'server:protocol'],
  [/x509:|tls:/, 'server:tls'],
  [/no route to host|network is unreachable/, 'network:unreachable'],
]

/** No response within the timeout. */
export const TIMEOUT = 'client:timeout'
/** Never sent: every connection was busy until the timeout. */
export const UNSENT = 'client:unsent'
/** The response was malformed, endless, or not HTTP at all. */
export const PROTOCOL = 'server:protocol'

/** A success without a value that later requests need. */
const NO_VALUE = 'server:no-value'

/**
 * Node tries each address of a name in turn; if all fail, its error has one of them each. Where this machine is to blame for one, it
 * is for the whole; otherwise the last address decides, after which no other is tried.
 * @param {{ code?: string, message?: string, errors?: { code?: string }[] }} failure of a Node socket
 * @returns {string} side and kind
 */
export function sideOfCode(failure) {
  const { errors = [] } = failure
  const own = errors.find(({ code = '' }) => BY_CODE[code]?.startsWith('client:'))
  const error = own ?? errors.at(-1) ?? failure
  const code = error.code ?? ''
  if (code in BY_CODE) return BY_CODE[code]
  if (TLS_CODE.test(code)) return 'server:tls'
  // Codes of Node's own HTTP parser.
  if (code.startsWith('HPE_')) return PROTOCOL
  return `unknown:${code || failure.message || 'error'}`
}

/**
 * A server that closes an idle connection has not seen the request that crosses with it, so the end arrives within a round trip. A
 * server that gives up a request later has read it: the kernel answers unread bytes with a reset.
 */
const RACE_MS = 1000

/**
 * Attributes a connection that the server closed during a request: a reused connection lost the race with the server's
 * keep-alive timeout; a fresh one was rejected, and one that waited for long was given up.
 * @param {{ reused: boolean, answerBegan: boolean, waited_ms: number }} connection waited_ms: since the request was sent
 */
export function sideOfEnd({ reused, answerBegan, waited_ms }) {
  return reused && !answerBegan && waited_ms <= RACE_MS ? 'server:closed-idle' : 'server:closed'
}

/**
 * Extracts from a response the values that later requests need.
 * @param {{ take?: (body: string) => boolean }} request @param {number} status @param {string} [body]
 * @returns {string | null} NO_VALUE if a value is missing; null: all are there, or none was needed
 */
export function takeFrom({ take }, status, body = '') {
  return take && status >= 200 && status < 300 && !take(body) ? NO_VALUE : null
}

/** Prefix of Go's errors, as CSV or not: the URL may contain a secret, and words that a pattern would match. */
const METHOD_AND_URL = /^"?[A-Za-z]+ ("{1,2})[^"]*\1: /

/** @param {string} error from vegeta for a request without a response @returns {string} side and kind */
export function sideOfText(error) {
  const text = error.replace(METHOD_AND_URL, '')
  return BY_TEXT.find(([pattern]) => pattern.test(text))?.[1] ?? `unknown:${text.slice(0, 80)}`
}
