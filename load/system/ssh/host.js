import { execFile } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { EventEmitter, once } from 'node:events'
import { appendFileSync, rmSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { attempt } from '../../../sql/attempt.js'
import { makeScratch } from '../../../sql/scratch.js'
import { RemoteError, revivedError, UsageError } from '../../command/errors.js'
import { freePorts } from '../ports.js'
import { addressOption } from './plan.js'
import { bundleOf, prepare, scriptFor } from './prepare.js'
import { parsed, sshWith, startRemote } from './remote.js'

/**
 * @import { describeMachine, planCores } from '../machine.js'
 * @import { SshPlan } from './plan.js'
 */

/** Time for the agent to stop the API before it ends. */
const END_GRACE_MS = 3000
/** Command for an order to a connection. It skips the user's settings, which would make each order request its own forwardings. */
const ORDER = sshWith('/dev/null', ['LogLevel=ERROR', 'ProxyCommand=false'])

/**
 * Connects to the API's host, copies our programs there and starts our agent.
 * @param {SshPlan} plan
 * @param {{ signal: AbortSignal, note: (text: string) => void, logFile: string, flag?: string }} io logFile: takes what the API prints;
 *   flag: that named the host, for messages
 * @throws {UsageError} with what to change, in one line
 * @typedef {Awaited<ReturnType<typeof openHost>>} Host
 */
export async function openHost(plan, { signal, note, logFile, flag = '--ssh' }) {
  signal.throwIfAborted()
  const { host: name, config, port } = plan
  note(`connecting to ${name} …`)
  const bundle = bundleOf()
  // A socket's path holds only about a hundred characters, and a Mac's default temporary folder nearly fills them.
  const folder = makeScratch('ssh', '/tmp')
  const control = path.join(folder, 'control')
  const heard = new EventEmitter().setMaxListeners(0)
  const hear = (/** @type {string} */ line) => {
    const { id, hello, died, log, ...answer } = parsed(line) ?? {}
    if (id) heard.emit(String(id), answer)
    if (hello) heard.emit('hello', hello)
    if (log) keepLog(logFile, log)
    if (died) heard.emit('died', revivedError(died))
  }
  const opening = new AbortController()
  const abort = () => opening.abort()
  signal.addEventListener('abort', abort)
  const line = { flag, config, signal: opening.signal, control, stdout: hear }
  const remote = startRemote(name, { ...scriptFor(bundle), ...line })
  let closing = false
  remote.lost.catch((error) => {
    if (!closing) heard.emit('died', error)
  })
  const close = async () => {
    closing = true
    await remote.close(END_GRACE_MS)
    rmSync(folder, { recursive: true, force: true })
  }
  /** @type {Hello} */
  let hello
  /** @type {string} */
  let address
  try {
    await prepare(remote, bundle, { name, note, flag })
    address = await addressOf(plan, flag)
    const greeted = once(heard, 'hello')
    remote.tell('agent')
    ;[hello] = await Promise.race([greeted, remote.lost])
  } catch (error) {
    await close()
    signal.throwIfAborted()
    throw error instanceof RemoteError ? new UsageError(error.message) : error
  } finally {
    signal.removeEventListener('abort', abort)
  }
  // The agent stops its work by itself when it loses us.
  const aborted = once(signal, 'abort').then(() => Promise.reject(signal.reason))
  aborted.catch(() => {})
  let asked = 0
  const { address: ours, ...there } = hello

  return {
    ...there,
    ...{ flag, name, address, port, bind: bindOf(plan, address, ours) },
    /** Asks the agent. @param {string} ask @param {object} [details] @returns {Promise<any>} */
    ask: async (ask, details) => {
      signal.throwIfAborted()
      const id = String(++asked)
      const answered = once(heard, id)
      remote.tell(JSON.stringify({ id, ask, ...details }))
      const [{ result, error }] = await Promise.race([answered, remote.lost, aborted])
      if (error) throw revivedError(error)
      return result
    },
    /** Rejects when the connection, or the next API to be started, ends by itself. @returns {Promise<never>} */
    died: () => {
      const died = once(heard, 'died').then(([error]) => Promise.reject(error))
      died.catch(() => {})
      return died
    },
    ...forwardings({ flag, name }, control, signal),
    close,
  }
}

/**
 * Keeps what the API printed. A full disk costs the log, not the run; and the folder of a run that never began has been removed.
 * @param {string} logFile @param {string} text
 */
export function keepLog(logFile, text) {
  attempt(() => appendFileSync(logFile, text), undefined)
}

/** @param {{ flag: string, name: string }} host @param {string} control socket of the connection @param {AbortSignal} signal */
function forwardings({ flag, name }, control, signal) {
  /** @param {string} way from here to there, in the syntax of -L @returns a function that ends the forwarding */
  async function forward(way) {
    const order = (/** @type {string} */ verb) => [...ORDER, '-S', control, '-O', verb, '-L', way, '--', name]
    await run(order('forward'), signal).catch(({ stderr }) => {
      signal.throwIfAborted()
      throw new UsageError(`${flag} ${name}: expected ${way} to be forwarded, got: ${stderr.trim()}`)
    })
    return () => run(order('cancel')).catch(() => {})
  }
  return {
    /** Forwards a free port here to a loopback port of the host. @param {number} port */
    forwardPort: async (port) => {
      const [local] = await freePorts(1)
      return { port: local, end: await forward(`127.0.0.1:${local}:127.0.0.1:${port}`) }
    },
    /** Forwards a socket here to a socket of the host, until the connection ends. @param {string} file */
    forwardSocket: async (file) => {
      const local = path.join(path.dirname(control), path.basename(file))
      await forward(`${local}:${file}`)
      return local
    },
  }
}

/**
 * @typedef {{ machine: ReturnType<typeof describeMachine> & { node: string }, cores: ReturnType<typeof planCores>, root: string,
 *   folder: string, address: string | null }} Hello the agent's first message; root: folder of our programs; folder: temporary;
 *   address: the host's own, to which we connected
 */

/** @param {string[]} command @param {AbortSignal} [signal] */
async function run([program, ...args], signal) {
  return (await promisify(execFile)(program, args, { signal })).stdout
}

/** The API's listen address: our connection's (ours), or any with --ssh-address. @param {Pick<SshPlan, 'address'>} plan @param {string} address to load @param {string | null} ours */
export function bindOf(plan, address, ours) {
  const any = isIPv6(address) ? '::' : '0.0.0.0'
  return plan.address === null ? (ours ?? any) : any
}

/** Numeric address for the load, so that no request waits for name resolution. @param {SshPlan} plan @param {string} flag */
async function addressOf({ host, address, config }, flag) {
  const settings = address === null ? await run([...sshWith(config, []), '-G', '--', host]).catch(() => '') : ''
  const name = address ?? /^hostname (.*)$/m.exec(settings)?.[1] ?? host
  const found = await lookup(name).catch(() => null)
  if (found) return found.address
  const expected = `its name ${name} to resolve here, got no address`
  const pass = `pass an address that the load can reach as ${addressOption(flag)}`
  throw new UsageError(`${flag} ${host}: expected ${expected}; ${pass}`)
}
