import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'

/**
 * @typedef {(question: string) => Promise<boolean | null>} Ask null: no terminal, so nobody can answer
 * @typedef {NodeJS.ReadableStream & { isTTY?: boolean }} Input
 */

/**
 * Asks yes-or-no questions at the terminal. Anything but yes means no.
 * @param {Input} input @param {{ write: (text: string) => unknown, isTTY?: boolean }} output @param {AbortSignal} signal ends the wait
 * @returns {Ask}
 */
export function askAt(input, output, signal) {
  return async (question) => {
    if (!input.isTTY || !output.isTTY) return null
    output.write(`${question} [y/N] `)
    // Without `terminal`, Ctrl-C is a signal as everywhere else.
    const lines = createInterface({ input, terminal: false })
    try {
      const [said = ''] = await Promise.race([once(lines, 'line', { signal }), once(lines, 'close', { signal })])
      return /^\s*y(es)?\s*$/i.test(said)
    } finally {
      lines.close()
    }
  }
}
