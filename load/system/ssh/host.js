import { execFile } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { EventEmitter, once } from 'node:events'
import { appendFileSync, existsSync, rmSync } from 'node:fs'
import { isIPv6 } from 'node:net'
import path from 'node:path'
import { promisify } from 'node:util'
import { makeScratch } from '../../../sql/scratch.js'
import { RemoteError, revivedError, UsageError } from '../../command/errors.js'
import { freePorts } from '../ports.js'
import { bundleOf, prepare, scriptFor } from './prepare.js'
import { parsed, sshWith, startRemote } from './remote.js'

/**
 * @import { describeMachine, planCores } from '../machine.js'
 * @import { SshPlan } from './plan.js'
 */

/** The agent stops the API before it ends. */
const END_GRACE_MS = 3000

/** Without the connection an order fails; the user's settings would make each order ask for his forwardings. */
const ORDER = sshWith('/dev/null', ['LogLevel=ERROR', 'ProxyCommand=false'])

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
  const { host: name, config, port } = plan
  note(`connecting to ${name} …`)
  const bundle = bundleOf()
  const folder = makeScratch('ssh')
  const control = path.join(folder, 'control')
  const heard = new EventEmitter().setMaxListeners(0)
  const hear = (/** @type {string} */ line) => {
    const { id, hello, died, log, ...answer } = parsed(line) ?? {}
    if (id) heard.emit(String(id), answer)
    if (hello) heard.emit('hello', hello)
    // The folder of a run that never began is gone by the time of its last words.
    if (log && existsSync(path.dirname(logFile))) appendFileSync(logFile, log)
    if (died) heard.emit('died', revivedError(died))
  }
  const opening = new AbortController()
  const abort = () => opening.abort()
  signal.addEventListener('abort', abort)
  const way = { flag: '--ssh', config, signal: opening.signal, control, stdout: hear }
  const remote = startRemote(name, { ...scriptFor(bundle), ...way })
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
    await prepare(remote, bundle, { name, note })
    address = await addressOf(plan)
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
  // The agent ends what is on its way then when it loses us.
  const aborted = once(signal, 'abort').then(() => Promise.reject(signal.reason))
  aborted.catch(() => {})
  let asked = 0
  const { address: ours, ...there } = hello

  /** Forwards a port or a socket. @param {string} way from here to there, as -L takes it @returns an order that ends it */
  async function forward(way) {
    const order = (/** @type {string} */ verb) => [...ORDER, '-S', control, '-O', verb, '-L', way, '--', name]
    await run(order('forward'), signal).catch(({ stderr }) => {
      signal.throwIfAborted()
      throw new UsageError(`--ssh ${name}: expected ${way} to be forwarded, got: ${stderr.trim()}`)
    })
    return () => run(order('cancel')).catch(() => {})
  }

  return {
    ...there,
    name,
    /** At which it is loaded. */
    address,
    /** There, that the API listens on. */
    bind: bindOf(plan, address, ours),
    port,
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
    /** Rejects when the API that is started next, or the line to it, ends by itself. @returns {Promise<never>} */
    died: () => {
      const died = once(heard, 'died').then(([error]) => Promise.reject(error))
      // Nobody may be waiting for it.
      died.catch(() => {})
      return died
    },
    /** A port of the host's loopback to one here. @param {number} port */
    forwardPort: async (port) => {
      const [local] = await freePorts(1)
      return { port: local, end: await forward(`127.0.0.1:${local}:127.0.0.1:${port}`) }
    },
    /** A socket of the host to one here, until the connection ends. @param {string} file */
    forwardSocket: async (file) => {
      const local = path.join(folder, path.basename(file))
      await forward(`${local}:${file}`)
      return local
    },
    /** Stops what runs there. */
    close,
  }
}

/**
 * @typedef {ReturnType<typeof describeMachine> & { node: string }} Machine
 * @typedef {{ machine: Machine, cores: ReturnType<typeof planCores>, root: string, folder: string, address: string | null }} Hello
 *   what the agent says first; root: folder of our programs; folder: goes with the connection; address: that it came to
 */

/** @param {string[]} command @param {AbortSignal} [signal] */
async function run([program, ...args], signal) {
  return (await promisify(execFile)(program, args, { signal })).stdout
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

/** Where it is loaded: a number, so that no request waits for a name. @param {SshPlan} plan */
async function addressOf({ host, address, config }) {
  const settings = address === null ? await run([...sshWith(config, []), '-G', '--', host]).catch(() => '') : ''
  // The host's name, as ssh's configuration has it.
  const name = address ?? /^hostname (.*)$/m.exec(settings)?.[1] ?? host
  const found = await lookup(name).catch(() => null)
  if (found) return found.address
  const expected = `its name ${name} to be one that is known here, got none`
  throw new UsageError(`--ssh ${host}: expected ${expected}; --ssh-address tells how the load reaches it`)
}
