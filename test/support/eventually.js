/**
 * Waits for a condition that other processes bring about.
 *
 * @param {() => boolean | Promise<boolean>} isSo
 * @param {string} what for the error
 * @param {number} [deadline_ms]
 * @throws {Error} at the deadline
 */
export async function eventually(isSo, what, deadline_ms = 20_000) {
  const until_ms = performance.now() + deadline_ms
  while (!(await isSo())) {
    if (performance.now() > until_ms) throw new Error(`expected ${what} within ${deadline_ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
