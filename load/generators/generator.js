import { setMaxListeners } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { RemoteError, UsageError } from '../command/errors.js'
import { DRIVERS } from './drivers/index.js'

/** @import { Session } from './drivers/index.js' */

/**
 * Generator process: opens a driver for a load, runs its phases on command and reports over IPC. It is separate from the lab
 * so that sampling and rendering never delay a send. It exits when the lab disconnects or exits.
 */

/** Time after a stop for a driver to finish opening; shorter than STOP_GRACE_MS in drive.js. */
const OPENING_MS = 400

const abort = new AbortController()
const { signal } = abort
// Every worker of a driver may add a listener.
setMaxListeners(0, signal)
let enough = new AbortController()
/** @type {Promise<Session> | undefined} */
let session

/** @type {Record<string, (message: any) => Promise<any>>} */
const commands = {
  async open({ load }) {
    const drivers = load.drivers_url ? (await import(load.drivers_url)).DRIVERS : DRIVERS
    const { check, open } = drivers[load.driver]
    check?.({ url: load.url, ...load.mix })
    session = open(load, signal)
    await session
  },
  ready: async ({ duration_s }) => (await session)?.ready?.({ duration_s, signal }),
  async run({ duration_s }) {
    enough = new AbortController()
    const onCounts = (/** @type {object} */ counts) => say({ counts })
    const onEnd = () => say({ ended: true })
    return (await session)?.run({ duration_s, signal, onCounts, onEnd, enough: enough.signal })
  },
}

process.on('message', async (/** @type {any} */ message) => {
  // No reply: the `run` command replies when its phase is over.
  if (message.command === 'enough') return enough.abort()
  try {
    say({ result: await commands[message.command](message) })
  } catch (error) {
    const { message: words, stack } = /** @type {Error} */ (error)
    const isExpected = error instanceof RemoteError || error instanceof UsageError
    say({ failed: words, ...(!isExpected && { stack }) })
  }
})

process.on('SIGTERM', stop)
process.on('disconnect', stop)

/** @param {object} message */
function say(message) {
  if (process.connected) process.send?.(message)
}

async function stop() {
  abort.abort(new Error('stopped'))
  const opened = await Promise.race([session?.catch(() => undefined), setTimeout(OPENING_MS, undefined)])
  await opened?.close()
  process.exit()
}
