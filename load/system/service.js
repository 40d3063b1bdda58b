import { appendFileSync, closeSync, fstatSync, openSync, readSync, statSync, truncateSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import { attempt } from '../../sql/attempt.js'
import { NotReady, ServiceEnded } from '../command/errors.js'
import { startChild } from './processes.js'

const START_TIMEOUT_MS = 30_000
const POLL_MS = 20
/** Largest log. A service may log each request, and is sent more of them than ever before. */
const LOG_BYTES = 100e6
const LOG_POLL_MS = 1000

/**
 * Starts a server as its own process, and waits until it is ready.
 * @param {string} name for messages @param {string[]} command
 * @param {Omit<Parameters<typeof startChild>[1], 'stdio'> & { logFile: string, isReady: () => Promise<boolean>, stopGrace_ms: number,
 *   start_ms?: number, signal?: AbortSignal, log_bytes?: number }} options logFile: takes its output, and is emptied when it is larger
 *   than log_bytes; isReady: polled; stopGrace_ms: from SIGTERM to SIGKILL;
 *   start_ms: longest wait; signal: ends the wait
 * @throws {ServiceEnded} when it ends before it is ready
 * @throws {NotReady} when it is not ready in time
 */
export async function startService(name, command, options) {
  const { logFile, isReady, stopGrace_ms, start_ms = START_TIMEOUT_MS, log_bytes, signal: ending, ...how } = options
  const log = openSync(logFile, 'a')
  const { child, exited, stop } = startChild(command, { ...how, stdio: ['ignore', log, log] })
  closeSync(log)
  const bounding = setInterval(() => attempt(() => boundLog(logFile, log_bytes), undefined), LOG_POLL_MS).unref()
  const unbound = () => clearInterval(bounding)
  exited.then(unbound, unbound)
  let stopping = false
  /** Rejects when the service ends by itself. */
  const died = exited.then(({ code, signal }) => {
    if (stopping) return /** @type {Promise<never>} */ (new Promise(() => {}))
    throw new ServiceEnded(name, code, signal, lastWords(logFile))
  })
  died.catch(() => {})
  const stopNow = () => {
    stopping = true
    return stop(stopGrace_ms)
  }
  try {
    await Promise.race([untilReady(), died])
  } catch (error) {
    await stopNow()
    throw error
  }
  return { pid: /** @type {number} */ (child.pid), died, stop: stopNow }

  async function untilReady() {
    for (const until = Date.now() + start_ms; Date.now() < until && !stopping; await pause(POLL_MS)) {
      if (await isReady()) return
      ending?.throwIfAborted()
    }
    throw new NotReady(`${name} was not ready within ${start_ms / 1000} s; its last output: ${lastWords(logFile)}`)
  }
}

/** Empties a log that has become too large; the service goes on at its end. @param {string} logFile @param {number} [log_bytes] */
function boundLog(logFile, log_bytes = LOG_BYTES) {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
  if (size <= log_bytes) return
  truncateSync(logFile)
  appendFileSync(logFile, `(Redline has removed the first ${size} bytes of this log)\n`)
}

/** A log may be too large to be read as a whole. */
const END_BYTES = 8192

/** Lines that a crashing program prints after the cause: Node's version, places in the code, and parts of a printed error. */
const TRAILER = /^(Node\.js v\d|\s+at |\s*[{}[\]^]+$|\s+\w+: )/
const CAUSE = /^(\w*(Error|Exception)\b|Uncaught|Caused by|panic:|fatal)/i

/** The last line of a log, or the one that names the cause if the log ends with a crash, for the terminal. @param {string} logFile */
function lastWords(logFile) {
  const fd = openSync(logFile, 'r')
  try {
    const from = Math.max(0, fstatSync(fd).size - END_BYTES)
    const end = Buffer.alloc(END_BYTES)
    const text = end.toString('utf8', 0, readSync(fd, end, 0, END_BYTES, from))
    const lines = text.trimEnd().split('\n')
    const last = lines.findLast((one) => !TRAILER.test(one)) ?? lines.at(-1)
    const cause = TRAILER.test(lines.at(-1) ?? '') && lines.findLast((one) => CAUSE.test(one))
    const line = (cause || last || '').trim()
    return stripVTControlCharacters(line) || '(none)'
  } finally {
    closeSync(fd)
  }
}
