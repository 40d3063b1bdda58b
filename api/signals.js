/** Maximum interval between two copies of a Ctrl-C: the terminal sends us one, and npm forwards another within milliseconds. */
const SAME_SIGNAL_MS = 100

/**
 * Returns whether a later signal repeats one that was already handled.
 * @param {{ signal: string, at_ms: number }} first @param {string} signal @param {number} now_ms
 */
export function isSameSignal(first, signal, now_ms) {
  return signal === first.signal && now_ms - first.at_ms <= SAME_SIGNAL_MS
}
