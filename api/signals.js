/** npm passes a Ctrl-C on to us, which the terminal has sent us, too; both arrive within milliseconds. */
const SAME_SIGNAL_MS = 100

/**
 * Whether a later signal is one that has been handled already.
 * @param {{ signal: string, at_ms: number }} first @param {string} signal @param {number} now_ms
 */
export function isSameSignal(first, signal, now_ms) {
  return signal === first.signal && now_ms - first.at_ms <= SAME_SIGNAL_MS
}
