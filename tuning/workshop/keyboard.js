import { once } from 'node:events'
import { createInterface } from 'node:readline'

/**
 * Reads lines from a terminal or a pipe.
 *
 * @param {NodeJS.ReadStream} input @param {NodeJS.WriteStream} output shows the prompt @param {AbortSignal} signal
 */
export function createKeyboard(input, output, signal) {
  // Never in raw mode: the terminal itself edits the line, and Ctrl-C stays a signal while something is measured.
  const reader = createInterface({ input, terminal: false, signal })
  const closed = once(reader, 'close')
  /** @type {string[]} */
  const lines = []
  reader.on('line', (line) => lines.push(line))
  return {
    /** @returns {Promise<string | null>} null: there will be no more @throws the signal's reason */
    async line() {
      // Lines typed during a measurement answer no question; a script cannot wait for the prompt.
      if (input.isTTY) lines.length = 0
      output.write('> ')
      if (lines.length === 0) await Promise.race([once(reader, 'line'), closed])
      signal.throwIfAborted()
      const line = lines.shift()
      // A terminal shows what is typed; a pipe does not.
      if (!input.isTTY) output.write(line === undefined ? '\n' : `${line}\n`)
      return line === undefined ? null : line.trim()
    },

    close() {
      reader.close()
      input.destroy()
    },
  }
}
