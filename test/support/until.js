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
