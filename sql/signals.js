import { setMaxListeners } from 'node:events'

/** npm passes on a signal that the terminal has sent to this process, too; both arrive within milliseconds. */
const SAME_MS = 100

/**
 * Aborts at the first signal, with its name as the reason; a second one that a person sent ends the process at once.
 * @param {number} exitCode @param {string} [words] for the terminal, when it ends at once
 */
export function abortOnSignals(exitCode, words = '') {
  const controller = new AbortController()
  // Each load host of a run adds one, and there may be more than ten.
  setMaxListeners(0, controller.signal)
  const handle = createSignals({
    first: (name) => controller.abort(new Error(name)),
    second: () => {
      process.stderr.write(words)
      process.exit(exitCode)
    },
  })
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => handle(name, performance.now()))
  return controller.signal
}

/**
 * @template {string} T
 * @param {{ first: (name: T) => void, second: (name: T) => void }} handlers
 * @returns {(name: T, now_ms: number) => void} to be told of each signal
 */
export function createSignals({ first, second }) {
  /** @type {{ name: T, at_ms: number } | null} */
  let begun = null
  return (name, now_ms) => {
    if (begun === null) {
      begun = { name, at_ms: now_ms }
      first(name)
    } else if (name !== begun.name || now_ms - begun.at_ms > SAME_MS) second(name)
  }
}

/** Returns whether a process got the signal: not if it has ended, or is another user's. @param {number} pid @param {NodeJS.Signals | 0} signal */
export function sendSignal(pid, signal) {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
