import { EventEmitter, once } from 'node:events'
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
 */
export function openChannel({ stdin, stdout }, onMessage) {
  // An error rejects every pending question; without a listener it would end the process where nothing is pending.
  const answers = new EventEmitter().setMaxListeners(0).on('error', () => {})
  let last = 0
  const write = (/** @type {object} */ message) => void stdin?.write(`${JSON.stringify(message)}\n`)
  const beat = setInterval(write, BEAT_MS, { beat: true })
  const end = () => {
    clearInterval(beat)
    stdin?.end()
    answers.emit('error', new Error('the line is closed'))
  }
  stdin?.on('error', () => {})
  const lines = createInterface({ input: /** @type {Readable} */ (stdout) })
  lines.on('close', end).on('line', (line) => {
    const message = parsed(line)
    if (!message || answers.emit(String(message.id), message)) return
    onMessage(message)
  })
  return {
    end,
    /** @param {string} ask @param {object} [asked] @returns {Promise<any>} `result` or `error`; rejects when the line is gone */
    ask: async (ask, asked) => {
      const id = ++last
      write({ id, ask, ...asked })
      return (await once(answers, String(id)))[0]
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
