import { once } from 'node:events'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeScratch } from '../../../sql/scratch.js'
import { UsageError } from '../../command/errors.js'
import { freePorts } from '../ports.js'
import { collect, startChild } from '../processes.js'
import { explain } from './failures.js'
import { sshWith } from './remote.js'

/**
 * @import { Child } from '../processes.js'
 * @import { SshPlan } from './plan.js'
 */

/** It ends with us, and forwards nothing that we do not ask for. */
const SINGLE = ['LogLevel=ERROR', 'ControlPersist=no', 'ClearAllForwardings=yes']

/** Without the connection a command fails; the user's settings would make each command ask for his forwardings. */
const THROUGH = sshWith('/dev/null', ['LogLevel=ERROR', 'ProxyCommand=false'])

/** What a shell may print before this is not ours. */
const GREETING = 'redline is in'
const STOP_GRACE_MS = 300
/** What ssh printed last may be read after its end. */
const WORDS_MS = 200
const NEVER = new AbortController().signal

/** @typedef {Awaited<ReturnType<typeof connect>>} Connection */

/**
 * One connection by the system's ssh. All commands go through its control socket. It carries `cat`, which ends with its
 * input, and so with us.
 *
 * @param {SshPlan} plan @param {AbortSignal} signal
 * @throws {UsageError} when ssh does not get in
 */
export async function connect({ host, config }, signal) {
  signal.throwIfAborted()
  const folder = makeScratch('ssh')
  const socket = ['-S', path.join(folder, 'control')]
  const ssh = sshWith(config, SINGLE)
  const through = [...THROUGH, ...socket]
  const { child, exited, stop } = start([...ssh, ...socket, '-M', '--', host, `echo ${GREETING}; exec cat`])
  const [said, printed] = [collect(child.stderr), collect(child.stdout)]
  const closed = once(child, 'close')
  closed.catch(() => {})
  const ended = exited.then(
    async () => {
      await Promise.race([closed, pause(WORDS_MS, undefined, { ref: false })])
      // Whom a host lets in only to turn him away, it tells on stdout.
      return new UsageError(explain(said().trim() ? said() : printed(), host))
    },
    (error) => new UsageError(`--ssh: expected OpenSSH's ssh on PATH, got ${error.message}`),
  )
  const greeted = new Promise((resolve) => {
    child.stdout?.on('data', () => printed().includes(GREETING) && resolve(null))
  })
  const close = async () => {
    await stop(STOP_GRACE_MS)
    rmSync(folder, { recursive: true, force: true })
  }
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  const failure = await Promise.race([ended, greeted])
  signal.removeEventListener('abort', abort)
  if (failure) {
    await close()
    signal.throwIfAborted()
    throw failure
  }

  /** Starts a command on the host. @param {string} text */
  const command = (text) => start([...through, '--', host, text])
  return {
    /** Why, when it ends. @type {Promise<string>} */
    lost: ended.then(() => said().trim().split('\n').at(-1) || 'ssh ended'),
    command,
    /** Runs a command to its end. @param {string} text @param {string} input */
    run: (text, input) => runToEnd(command(text), input, signal),
    /** The host's name, as ssh's configuration has it. */
    hostname: async () => {
      const { stdout } = await runToEnd(start([...ssh, '-G', '--', host]), '', signal)
      return /^hostname (.*)$/m.exec(stdout)?.[1] ?? host
    },
    /** A port of the host's loopback to one here. @param {number} port */
    forward: async (port) => {
      const [local] = await freePorts(1)
      const end = await forward(through, host, `127.0.0.1:${local}:127.0.0.1:${port}`, signal)
      return { port: local, end }
    },
    /** A socket of the host to one here, until the connection ends. @param {string} file */
    forwardSocket: async (file) => {
      const local = path.join(folder, path.basename(file))
      await forward(through, host, `${local}:${file}`, signal)
      return local
    },
    close,
  }
}

/** @param {string[]} command */
function start(command) {
  return startChild(command, { cores: null, stdio: ['pipe', 'pipe', 'pipe'] })
}

/** @param {Child} started @param {string} input @param {AbortSignal} signal */
async function runToEnd({ child, exited, stop }, input, signal) {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const [{ code }] = await Promise.all([exited, once(child, 'close')])
  signal.removeEventListener('abort', abort)
  signal.throwIfAborted()
  return { code, stdout: stdout(), stderr: stderr() }
}

/** @param {string[]} ssh @param {string} host @param {string} way from here to there, as -L takes it @param {AbortSignal} signal */
async function forward(ssh, host, way, signal) {
  const order = (/** @type {string} */ name) => start([...ssh, '-O', name, '-L', way, '--', host])
  const { code, stderr } = await runToEnd(order('forward'), '', signal)
  if (code !== 0) throw new UsageError(`--ssh ${host}: expected ${way} to be forwarded, got: ${stderr.trim()}`)
  return async () => void (await runToEnd(order('cancel'), '', NEVER))
}
