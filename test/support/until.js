/**
 * Polls until something is so.
 *
 * @param {string} what completes "expected …" when it does not come about in time
 * @param {() => unknown} isSo truthy, or a promise of it
 * @param {number} [deadline_ms]
 */
export async function until(what, isSo, deadline_ms = 10_000) {
  const last_ms = performance.now() + deadline_ms
  while (!(await isSo())) {
    if (performance.now() > last_ms) throw new Error(`expected ${what} within ${deadline_ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/**
 * The first line that a program prints.
 *
 * @param {string} what completes "expected …" when none comes in time
 * @param {import('node:stream').Readable} stream
 * @param {number} [deadline_ms]
 * @returns {Promise<string>} without its end
 */
export async function firstLine(what, stream, deadline_ms = 30_000) {
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
