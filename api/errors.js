/**
 * Every error that the API returns. Codes are stable, so clients may branch on them. `title` explains the code; an answer's
 * `detail` says what was wrong with its request.
 * @typedef {keyof typeof PROBLEMS} ProblemCode
 */
export const PROBLEMS = /** @type {const} */ ({
  malformed_http: { status: 400, title: 'The request is not valid HTTP/1.1' },
  chunks_too_small: { status: 400, title: 'The body is sent in too many chunks for its length' },
  malformed_json: { status: 400, title: 'The body is not valid JSON in UTF-8' },
  invalid_user: { status: 400, title: 'The body is not a valid user' },
  malformed_idempotency_key: { status: 400, title: 'The Idempotency-Key is not 1 to 255 printable characters' },
  not_found: { status: 404, title: 'There is nothing here' },
  method_not_allowed: { status: 405, title: 'This path does not take this method' },
  request_timeout: { status: 408, title: 'The request did not arrive in time' },
  user_exists: { status: 409, title: 'There is a user with these values, and the database allows only one' },
  body_too_large: { status: 413, title: 'The body is larger than this service takes' },
  unsupported_media_type: { status: 415, title: 'The body has to be application/json in UTF-8, not encoded' },
  expectation_failed: { status: 417, title: 'The only expectation known is 100-continue' },
  idempotency_key_reused: { status: 422, title: 'This Idempotency-Key belongs to a request with another body' },
  headers_too_large: { status: 431, title: 'The header section is larger than this service takes' },
  internal_error: { status: 500, title: 'Unexpected internal error' },
  row_refused: { status: 500, title: 'A rule of the database forbids this user: do not retry' },
  database_refused: { status: 500, title: 'The database refuses this statement until its operator acts: do not retry' },
  idempotency_unsupported: { status: 501, title: 'The database has no table for idempotency keys: nothing was stored' },
  overloaded: { status: 503, title: 'The service is overloaded' },
  no_database_slot: { status: 503, title: 'No database connection became free in time' },
  database_unavailable: { status: 503, title: 'The database is temporarily unavailable' },
  outcome_unknown: {
    status: 504,
    title: 'The row may or may not be stored: retry only if this request had an Idempotency-Key, and with the same key',
  },
})

/** An error with a defined answer. Any other error is unexpected and answered with `internal_error`. */
export class ApiError extends Error {
  /**
   * @param {ProblemCode} code
   * @param {string} [detail] what was wrong with this request; never internals
   * @param {{ headers?: string[], cause?: unknown }} [options] headers: flat list of names and values added to the answer
   */
  constructor(code, detail, { headers = [], cause } = {}) {
    super(detail ?? PROBLEMS[code].title, { cause })
    this.code = code
    this.detail = detail
    this.status = PROBLEMS[code].status
    // Retry-After is in seconds.
    this.headers = this.status === 503 ? ['Retry-After', '1', ...headers] : headers
  }
}
