import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'

/**
 * @typedef {(question: string) => Promise<boolean | null>} Ask null: nobody is there to answer
 * @typedef {NodeJS.ReadableStream & { isTTY?: boolean }} Input
 */

/**
 * Asks questions at the terminal, to be answered with yes or no. Anything else is a no.
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
