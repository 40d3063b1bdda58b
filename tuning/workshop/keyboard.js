import { createInterface } from 'node:readline'

/**
 * Lines of whoever sits there, or of a pipe.
 *
 * @param {NodeJS.ReadStream} input
 * @param {NodeJS.WriteStream} output shows the prompt
 * @param {AbortSignal} signal
 */
export function createKeyboard(input, output, signal) {
  // Never in raw mode: the terminal itself edits the line, and Ctrl-C stays a signal while something is measured.
  const reader = createInterface({ input, terminal: false })
  /** @type {string[]} */
  let lines = []
  let ended = false
  let wake = () => {}
  reader.on('line', (line) => {
    lines.push(line)
    wake()
  })
  reader.on('close', () => {
    ended = true
    wake()
  })
  signal.addEventListener('abort', () => wake())
  return {
    /**
     * @returns {Promise<string | null>} null: there will be no more
     * @throws the signal's reason
     */
    async line() {
      // What was typed while something was measured answers no question; a script cannot wait for one.
      if (input.isTTY) lines = []
      output.write('> ')
      while (lines.length === 0 && !ended) {
        signal.throwIfAborted()
        await new Promise((resolve) => {
          wake = () => resolve(undefined)
        })
      }
      signal.throwIfAborted()
      const line = lines.shift()
      // What a terminal shows as it is typed.
      if (!input.isTTY) output.write(line === undefined ? '\n' : `${line}\n`)
      return line === undefined ? null : line.trim()
    },

    close() {
      reader.close()
      input.destroy()
    },
  }
}

/** @typedef {ReturnType<typeof createKeyboard>} Keyboard */
