import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startChild } from '../../../load/system/processes.js'

/** @import { Front } from './index.js' */

const STOP_GRACE_MS = 500

/**
 * A proxy in front of the API, as a process of its own where we are.
 *
 * @param {string} file takes the target's URL as its argument, sends { url } when it listens
 * @returns {Front}
 */
export function front(file) {
  const script = fileURLToPath(new URL(file, import.meta.url))
  return async (targetUrl) => {
    const command = [process.execPath, script, targetUrl]
    const { child, exited, stop } = startChild(command, { cores: null, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    const ended = exited.then(({ code, signal }) => {
      throw new Error(`${file} ended before it listened (${signal ?? `code ${code}`})`)
    })
    ended.catch(() => {})
    const [{ url }] = await Promise.race([once(child, 'message'), ended])
    return { url, stop: () => stop(STOP_GRACE_MS) }
  }
}
