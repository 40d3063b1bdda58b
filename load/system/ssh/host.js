import { lookup } from 'node:dns/promises'
import { EventEmitter, once } from 'node:events'
import { appendFileSync, existsSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import path from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { RemoteError, revivedError, UsageError } from '../../command/errors.js'
import { collect } from '../processes.js'
import { openChannel } from './channel.js'
import { connect } from './connection.js'
import { prepare } from './prepare.js'

/**
 * @import { describeMachine, planCores } from '../machine.js'
 * @import { Connection } from './connection.js'
 * @import { SshPlan } from './plan.js'
 */

/** The agent stops the API before it ends. */
const END_GRACE_MS = 3000
const STOP_GRACE_MS = 300
const REASON_MS = 500

/**
 * Another host, on which the API can be started: connected, with our programs on it and our agent running.
 *
 * @param {SshPlan} plan
 * @param {{ signal: AbortSignal, note: (text: string) => void, logFile: string }} io logFile: takes what the API prints
 * @throws {UsageError} what has to be changed, in one line
 *
 * @typedef {Awaited<ReturnType<typeof openHost>>} Host
 */
export async function openHost(plan, { signal, note, logFile }) {
  note(`connecting to ${plan.host} …`)
  const connection = await connect(plan, signal)
  try {
    const command = await prepare(connection, { name: plan.host, note })
    const address = await addressOf(plan, connection)
    return await startAgent(plan, { connection, command, address }, { signal, logFile })
  } catch (error) {
    await connection.close()
    signal.throwIfAborted()
    throw error
  }
}

/**
 * @param {SshPlan} plan @param {{ connection: Connection, command: string, address: string }} way
 * @param {{ signal: AbortSignal, logFile: string }} io
 *
 * @typedef {ReturnType<typeof describeMachine> & { node: string }} Machine
 * @typedef {{ machine: Machine, cores: ReturnType<typeof planCores>, root: string, folder: string, address: string | null }} Hello
 *   what the agent says first; root: folder of our programs; folder: goes with the connection; address: that it came to
 */
async function startAgent(plan, { connection, command, address }, { signal, logFile }) {
  const { child, exited, stop } = connection.command(command)
  const stderr = collect(child.stderr)
  const closed = once(child, 'close')
  closed.catch(() => {})
  const heard = new EventEmitter()
  const greeted = once(heard, 'hello')
  const channel = openChannel(child, ({ hello, died, log }) => {
    if (hello) heard.emit('hello', hello)
    // The folder of a run that never began is gone by the time of its last words.
    if (log && existsSync(path.dirname(logFile))) appendFileSync(logFile, log)
    if (died) heard.emit('died', revivedError(died))
  })
  let closing = false
  const lost = exited.then(async () => {
    // The connection knows better why than the agent, whose line it was.
    const why = await Promise.race([connection.lost, setTimeout(REASON_MS, null, { ref: false })])
    const last = why ?? (stderr().trim().split('\n').at(-1) || 'its agent ended')
    throw new RemoteError(`the line to ${plan.host} was lost: ${last}`)
  })
  lost.catch((error) => {
    if (!closing) heard.emit('died', error)
  })
  signal.throwIfAborted()
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  /** @type {[Hello]} */
  const [hello] = /** @type {any} */ (await Promise.race([greeted, lost]))
  signal.removeEventListener('abort', abort)
  // What is on its way then, the agent ends when it loses us.
  const aborted = once(signal, 'abort').then(() => signal.throwIfAborted())
  aborted.catch(() => {})
  const { address: ours, ...there } = hello

  return {
    ...there,
    name: plan.host,
    /** At which it is loaded. */
    address,
    /** There, that the API listens on. */
    bind: bindOf(plan, address, ours),
    port: plan.port,
    connection,
    /** Asks the agent. @param {string} ask @param {object} [asked] @returns {Promise<any>} */
    ask: async (ask, asked) => {
      signal.throwIfAborted()
      const { result, error } = await Promise.race([channel.ask(ask, asked).catch(() => lost), lost, aborted])
      if (error) throw revivedError(error)
      return result
    },
    /** Rejects when the API that is started next, or the line to it, ends by itself. @returns {Promise<never>} */
    died: () => {
      const died = once(heard, 'died').then(([error]) => Promise.reject(error))
      // Nobody may be waiting for it.
      died.catch(() => {})
      return died
    },
    /** Stops what runs there. */
    close: async () => {
      closing = true
      channel.end()
      const timer = globalThis.setTimeout(() => stop(STOP_GRACE_MS), END_GRACE_MS)
      await exited
      clearTimeout(timer)
      // The last words of the API among it.
      await closed
      await connection.close()
    },
  }
}

/**
 * The address that the API listens on: where the load comes in by a way of its own, it may come to any. Pure.
 *
 * @param {Pick<SshPlan, 'address'>} plan
 * @param {string} address at which it is loaded
 * @param {string | null} ours address there that our connection came to
 */
export function bindOf(plan, address, ours) {
  const any = isIPv6(address) ? '::' : '0.0.0.0'
  return plan.address === null ? (ours ?? any) : any
}

/** Where it is loaded: a number, so that no request waits for a name. @param {SshPlan} plan @param {Connection} connection */
async function addressOf({ host, address }, connection) {
  const name = address ?? (await connection.hostname())
  const found = await lookup(name).catch(() => null)
  if (found) return found.address
  const expected = `its name ${name} to be one that is known here, got none`
  throw new UsageError(`--ssh ${host}: expected ${expected}; --ssh-address tells how the load reaches it`)
}
