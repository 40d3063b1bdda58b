/** npm passes on a signal that the terminal has sent to this process, too; both arrive within milliseconds. */
const SAME_MS = 100

/**
 * Calls `first` at the first signal, and `second` at each later one that a person sent.
 * @template {NodeJS.Signals} T
 * @param {T[]} names @param {{ first: (name: T) => void, second: (name: T) => void }} handlers
 */
export function onSignals(names, handlers) {
  const handle = createSignals(handlers)
  for (const name of names) process.on(name, () => handle(name, performance.now()))
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
