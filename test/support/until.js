/** @import { Readable } from 'node:stream' */

/** How long anything may take before a test gives up on it: long, since other tests load the machine, too. */
const DEADLINE_MS = 60_000

/** Pauses between polls: short at first, so that what comes at once costs no time, and then longer, to spare the CPU. */
const FIRST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 100

/**
 * Polls until something is so.
 * @param {string} what completes "expected …" when it does not come about in time
 * @param {() => unknown} isSo truthy, or a promise of it
 * @param {number} [deadline_ms]
 */
export async function until(what, isSo, deadline_ms = DEADLINE_MS) {
  const last_ms = performance.now() + deadline_ms
  let pause_ms = FIRST_PAUSE_MS
  while (!(await isSo())) {
    if (performance.now() > last_ms) throw new Error(`expected ${what} within ${deadline_ms} ms`)
    const thisPause_ms = pause_ms
    await new Promise((resolve) => setTimeout(resolve, thisPause_ms))
    pause_ms = Math.min(LONGEST_PAUSE_MS, pause_ms * 1.5)
  }
}

/**
 * A promise that has to settle in time.
 * @template T
 * @param {string} what completes "expected …" when it does not
 * @param {Promise<T>} promise
 * @param {number} [deadline_ms]
 * @returns {Promise<T>}
 */
export async function within(what, promise, deadline_ms = DEADLINE_MS) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`expected ${what} within ${deadline_ms} ms`)), deadline_ms)
  })
  try {
    return /** @type {T} */ (await Promise.race([promise, late]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * The first line that a program prints.
 * @param {string} what completes "expected …" when none comes in time
 * @param {Readable} stream
 * @param {number} [deadline_ms]
 * @returns {Promise<string>} without its end
 */
export async function firstLine(what, stream, deadline_ms = 120_000) {
  let text = ''
  let ended = false
  stream.on('data', (chunk) => {
    text += chunk
  })
  stream.on('end', () => {
    ended = true
  })
  await until(what, () => text.includes('\n') || ended, deadline_ms)
  if (!text.includes('\n')) throw new Error(`expected ${what}, got the end of the output`)
  return text.slice(0, text.indexOf('\n'))
}

/**
 * The first text of a stream that matches.
 * @param {string} what completes "expected …" when none comes in time
 * @param {Readable} stream
 * @param {RegExp} pattern
 * @param {number} [deadline_ms]
 * @returns {Promise<string>}
 */
export async function firstMatch(what, stream, pattern, deadline_ms = 120_000) {
  let text = ''
  let ended = false
  stream.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  stream.on('end', () => {
    ended = true
  })
  await until(what, () => pattern.test(text) || ended, deadline_ms)
  const [found] = pattern.exec(text) ?? []
  if (found === undefined) throw new Error(`expected ${what}, got the end of the output: ${text}`)
  return found
}
