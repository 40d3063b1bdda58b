/** npm passes on a signal that the terminal has sent to this process, too; both arrive within milliseconds. */
const SAME_MS = 100

/**
 * Calls `first` at the first signal, and `second` at each later one that a person sent.
 * @template {NodeJS.Signals} T
 * @param {T[]} names @param {{ first: (name: T) => void, second: (name: T) => void }} handlers
 */
export function onSignals(names, { first, second }) {
  /** @type {{ name: T, at_ms: number } | null} */
  let begun = null
  for (const name of names) {
    process.on(name, () => {
      const now_ms = performance.now()
      if (begun === null) {
        begun = { name, at_ms: now_ms }
        first(name)
      } else if (name !== begun.name || now_ms - begun.at_ms > SAME_MS) second(name)
    })
  }
}
