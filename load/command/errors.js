/** The errors that callers distinguish. Each message is one line: what was expected, what was received, what to do. */

/** The command line or the configuration is wrong. Exit code 2. */
export class UsageError extends Error {}

/** A run cannot be resumed: the conditions of its measurements have changed. */
export class OtherConditions extends UsageError {
  /** @param {string} because */
  constructor(because) {
    super(`--resume: ${because}`)
    this.because = because
  }
}

/** A cell's settings could not be applied to a target. The run continues without the cell, and reports it. */
export class NotApplied extends Error {}

/** Another host, or the connection to it, failed. */
export class RemoteError extends Error {}

/** A server ended on its own. */
export class ServiceEnded extends Error {
  /** @param {string} name @param {number | null} code @param {string | null} signal @param {string} words its last output */
  constructor(name, code, signal, words) {
    super(`${name} ended unexpectedly (${signal ?? `code ${code}`}); its last output: ${words}`)
    this.service = name
    this.code = code
    this.signal = signal
    this.words = words
  }
}

/** A server was not ready in time. */
export class NotReady extends Error {}

/** Converts an error to plain data, for another process. @param {any} error */
export function plainError({ constructor: { name }, message, service, code, signal, words }) {
  return { name, message, service, code, signal, words }
}

/** Restores the error that plainError() converted. @param {any} plain @returns {Error} */
export function revivedError({ name, message, service, code, signal, words }) {
  if (name === 'UsageError') return new UsageError(message)
  if (name === 'NotApplied') return new NotApplied(message)
  if (name === 'NotReady') return new NotReady(message)
  return name === 'ServiceEnded' ? new ServiceEnded(service, code, signal, words) : new Error(message)
}
