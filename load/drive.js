import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { startChild } from './processes.js'

const GENERATOR = fileURLToPath(new URL('generator.js', import.meta.url))
const STOP_GRACE_MS = 500

/**
 * Starts the generator's process for one trial.
 *
 * @param {import('./drivers/index.js').Load} load
 * @param {AbortSignal} signal stops it within a second
 * @param {(counts: any) => void} onCounts
 * @param {{ nofile?: number | null }} [limits] of its process
 * @returns {Promise<Generator>}
 */
export async function startGenerator(load, signal, onCounts, { nofile = null } = {}) {
  signal.throwIfAborted()
  const command = [process.execPath, GENERATOR]
  const stdio = /** @type {any} */ (['ignore', 'ignore', 'inherit', 'ipc'])
  const { child, exited, stop } = startChild(command, { cores: null, nofile, stdio })
  goFirst(child.pid)
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  const lost = exited.then(({ code, signal: by }) => {
    signal.throwIfAborted()
    throw new Error(`the generator's process ended (${by ?? `code ${code}`})`)
  })
  lost.catch(() => {})

  /** @param {object} message @param {() => void} [onEnd] @returns {Promise<any>} */
  function ask(message, onEnd = () => {}) {
    const answered = new Promise((resolve, reject) => {
      const onMessage = (/** @type {any} */ reply) => {
        if (reply.counts) return onCounts(reply.counts)
        if (reply.ended) return onEnd()
        child.off('message', onMessage)
        if (reply.failed) reject(signal.aborted ? signal.reason : new Error(reply.failed))
        else resolve(reply.result)
      }
      child.on('message', onMessage)
      child.send(message, (error) => error && reject(error))
    })
    return Promise.race([answered, lost])
  }

  const generator = {
    pid: /** @type {number} */ (child.pid),
    ready: (/** @type {number} */ duration_s) => ask({ command: 'ready', duration_s }),
    run: (/** @type {number} */ duration_s, /** @type {() => void} */ onEnd = () => {}) => {
      return ask({ command: 'run', duration_s }, onEnd)
    },
    enough: () => {
      if (child.connected) child.send({ command: 'enough' }, () => {})
    },
    close: async () => {
      signal.removeEventListener('abort', abort)
      if (child.connected) child.send({ command: 'close' }, () => {})
      await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, STOP_GRACE_MS).unref())])
      await stop(STOP_GRACE_MS)
    },
  }
  try {
    await ask({ command: 'open', load })
    return generator
  } catch (error) {
    await generator.close()
    throw error
  }
}

/** Against others on its core, where it may be; the least is -20 (setpriority(2)). */
const PRIORITY = -10

/**
 * Where the generator shares its core with Postgres, it has to go first: late, it measures itself. Every backend is a
 * session of its own and would otherwise weigh as much as the whole generator (sched(7), autogroup).
 *
 * @param {number | undefined} pid
 */
function goFirst(pid) {
  try {
    os.setPriority(Number(pid), PRIORITY)
    writeFileSync(`/proc/${pid}/autogroup`, String(PRIORITY))
  } catch {
    // Only root may; others see by its lateness whether it mattered.
  }
}

/**
 * @typedef {object} Generator
 * @property {number} pid
 * @property {(duration_s: number) => Promise<void>} ready does what the next phase needs before it can begin
 * @property {(duration_s: number, onEnd?: () => void) => Promise<import('./drivers/recorder.js').Traffic>} run one phase;
 *   onEnd: the last answer has come, and the generator sums up
 * @property {() => void} enough ends the phase that runs, where the driver can (Phase.enough)
 * @property {() => Promise<void>} close
 */
