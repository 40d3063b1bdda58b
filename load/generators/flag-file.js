import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'
import { UsageError } from '../command/errors.js'

const CHUNK_BYTES = 64 * 1024

/** Reads a flag's file. @template T @param {string} flag @param {() => T} read @throws {UsageError} */
export function readable(flag, read) {
  try {
    return read()
  } catch (error) {
    throw new UsageError(`--${flag}: expected a file that can be read, got ${/** @type {Error} */ (error).message}`)
  }
}

/**
 * Reads a flag's file, which may be a pipe or a device without an end.
 * @param {string} flag @param {string} file @param {number} maxBytes @throws {UsageError} if it holds more
 */
export function readUpTo(flag, file, maxBytes) {
  // Opening a named pipe blocks until it has a writer, and nothing could end the wait.
  if (!file.startsWith('/dev/') && !file.startsWith('/proc/') && readable(flag, () => statSync(file)).isFIFO())
    throw new UsageError(
      `--${flag}: expected a file, got a named pipe: use /dev/stdin instead, and redirect the pipe to it`,
    )
  const { bytes, size } = readable(flag, () => beginningOf(file, maxBytes + 1))
  if (bytes.length <= maxBytes) return bytes
  const found = size > maxBytes ? size : `more from ${file}`
  throw new UsageError(`--${flag}: expected a file of at most ${maxBytes} bytes, got ${found}`)
}

/** As above, without the mark with which some editors begin a text. @param {string} flag @param {string} file @param {number} maxBytes */
export function readText(flag, file, maxBytes) {
  return new TextDecoder().decode(readUpTo(flag, file, maxBytes))
}

/** @param {string} file @param {number} maxBytes @returns size: 0 for a pipe or a device */
function beginningOf(file, maxBytes) {
  const descriptor = openSync(file, 'r')
  try {
    const chunks = []
    for (let left = maxBytes; left > 0; left -= chunks[chunks.length - 1].length) {
      const chunk = Buffer.alloc(Math.min(left, CHUNK_BYTES))
      const bytesRead = readSync(descriptor, chunk)
      if (bytesRead === 0) break
      chunks.push(chunk.subarray(0, bytesRead))
    }
    return { bytes: Buffer.concat(chunks), size: fstatSync(descriptor).size }
  } finally {
    closeSync(descriptor)
  }
}
