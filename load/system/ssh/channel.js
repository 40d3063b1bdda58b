import { createInterface } from 'node:readline'

/**
 * @import { ChildProcess } from 'node:child_process'
 * @import { Readable } from 'node:stream'
 */

const BEAT_MS = 1000

/**
 * Questions and answers in lines of JSON, with a process on another host. Each second it hears from us, so that it can
 * tell a lab that is gone from one that has nothing to ask.
 *
 * @param {ChildProcess} child
 * @param {(message: any) => void} onMessage what it says unasked
 * @returns {Channel}
 *
 * @typedef {object} Channel
 * @property {(ask: string, asked?: object) => Promise<any>} ask what it answers: `result` or `error`; rejects when the line is gone
 * @property {() => void} end
 */
export function openChannel({ stdin, stdout }, onMessage) {
  /** @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
  const asking = new Map()
  let last = 0
  const write = (/** @type {object} */ message) => void stdin?.write(`${JSON.stringify(message)}\n`)
  const beat = setInterval(() => write({ beat: true }), BEAT_MS)
  const end = () => {
    clearInterval(beat)
    stdin?.end()
    for (const { reject } of asking.values()) reject(new Error('the line is closed'))
    asking.clear()
  }
  stdin?.on('error', () => {})
  const lines = createInterface({ input: /** @type {Readable} */ (stdout) })
  lines.on('close', end).on('line', (line) => {
    const message = parsed(line)
    const waiting = asking.get(message?.id)
    if (waiting) {
      asking.delete(message.id)
      waiting.resolve(message)
    } else if (message) onMessage(message)
  })
  return {
    end,
    ask: (ask, asked = {}) => {
      const id = ++last
      return new Promise((resolve, reject) => {
        asking.set(id, { resolve, reject })
        write({ id, ask, ...asked })
      })
    },
  }
}

/** What a shell prints before our program is none of ours, nor a line that was cut off. @param {string} line @returns {any} */
export function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}
