import { once } from 'node:events'
import { rmSync } from 'node:fs'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { makeScratch } from '../../../sql/scratch.js'
import { UsageError } from '../../command/errors.js'
import { freePorts } from '../ports.js'
import { collect, startChild } from '../processes.js'
import { explain } from './failures.js'
import { asArguments, SSH_OPTIONS } from './remote.js'

/**
 * @import { Child } from '../processes.js'
 * @import { SshPlan } from './plan.js'
 * @import { Readable } from 'node:stream'
 */

const OPTIONS = asArguments([...SSH_OPTIONS, 'LogLevel=ERROR'])

/** It ends with us, and forwards nothing that we do not ask for. */
const SINGLE = ['-M', ...asArguments(['ControlPersist=no', 'ClearAllForwardings=yes'])]

/**
 * Through the connection alone: without it a command fails instead of connecting itself, and the user's settings would make
 * each command ask for his forwardings.
 */
const THROUGH = ['ssh', '-F', '/dev/null', ...OPTIONS, ...asArguments(['ProxyCommand=false'])]

/** What a shell may print before this is not ours. */
const GREETING = 'redline is in'
const STOP_GRACE_MS = 300

/** What ssh printed last may be read after its end. */
const WORDS_MS = 200
const NEVER = new AbortController().signal

/**
 * One connection by the system's ssh, so that the user's keys, agents, jump hosts and configuration hold. All commands go
 * through its control socket. It carries `cat`, which ends with its input, and so with us.
 *
 * @param {SshPlan} plan
 * @param {AbortSignal} signal
 * @returns {Promise<Connection>}
 * @throws {UsageError} when ssh does not get in
 */
export async function connect({ host, config }, signal) {
  signal.throwIfAborted()
  const folder = makeScratch('ssh')
  const control = path.join(folder, 'control')
  const ssh = ['ssh', ...(config ? ['-F', config] : []), ...OPTIONS]
  const through = [...THROUGH, '-S', control]
  const { child, exited, stop } = start([...ssh, '-S', control, ...SINGLE, '--', host, `echo ${GREETING}; exec cat`])
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
  const close = async () => {
    signal.removeEventListener('abort', abort)
    await stop(STOP_GRACE_MS)
    rmSync(folder, { recursive: true, force: true })
  }
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  const failure = await Promise.race([ended, greeted(child.stdout, printed)])
  if (failure) {
    await close()
    signal.throwIfAborted()
    throw failure
  }
  signal.removeEventListener('abort', abort)

  const command = (/** @type {string} */ text) => start([...through, '--', host, text])
  return {
    pid: /** @type {number} */ (child.pid),
    lost: ended.then(() => said().trim().split('\n').at(-1) || 'ssh ended'),
    command,
    run: (text, input) => runToEnd(command(text), input, signal),
    hostname: async () => {
      const { stdout } = await runToEnd(start([...ssh, '-G', '--', host]), '', signal)
      return /^hostname (.*)$/m.exec(stdout)?.[1] ?? host
    },
    forward: async (port) => {
      const [local] = await freePorts(1)
      const end = await forward(through, host, `127.0.0.1:${local}:127.0.0.1:${port}`, signal)
      return { port: local, end }
    },
    forwardSocket: async (file) => {
      const local = path.join(folder, path.basename(file))
      await forward(through, host, `${local}:${file}`, signal)
      return local
    },
    close,
  }
}

/**
 * @typedef {object} Connection
 * @property {number} pid of ssh
 * @property {Promise<string>} lost why, when it ends
 * @property {(text: string) => Child} command starts one on the host
 * @property {(text: string, input: string) => Promise<Ended>} run one to its end
 * @property {() => Promise<string>} hostname the host's, as ssh's configuration has it
 * @property {(port: number) => Promise<{ port: number, end: () => Promise<void> }>} forward a port of the host's loopback to one here
 * @property {(file: string) => Promise<string>} forwardSocket a socket of the host to one here, until the connection ends
 * @property {() => Promise<void>} close
 *
 * @typedef {{ code: number | null, stdout: string, stderr: string }} Ended
 */

/** @param {string[]} command */
function start(command) {
  return startChild(command, { cores: null, stdio: ['pipe', 'pipe', 'pipe'] })
}

/** @param {Readable | null} stream @param {() => string} text what has come of it */
async function greeted(stream, text) {
  while (stream && !text().includes(GREETING)) {
    // Its end is for the end of ssh to explain.
    const more = await Promise.race([once(stream, 'data'), once(stream, 'close').then(() => null)])
    if (!more) return new Promise(() => {})
  }
}

/** @param {Child} started @param {string} input @param {AbortSignal} signal @returns {Promise<Ended>} */
async function runToEnd({ child, exited, stop }, input, signal) {
  const [stdout, stderr] = [collect(child.stdout), collect(child.stderr)]
  const abort = () => stop(STOP_GRACE_MS)
  signal.addEventListener('abort', abort)
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  const closed = once(child, 'close')
  const { code } = await exited
  await closed
  signal.removeEventListener('abort', abort)
  signal.throwIfAborted()
  return { code, stdout: stdout(), stderr: stderr() }
}

/**
 * @param {string[]} ssh
 * @param {string} host
 * @param {string} way from here to there, as -L takes it
 * @param {AbortSignal} signal
 * @returns {Promise<() => Promise<void>>} ends it
 */
async function forward(ssh, host, way, signal) {
  const order = (/** @type {string} */ name) => start([...ssh, '-O', name, '-L', way, '--', host])
  const { code, stderr } = await runToEnd(order('forward'), '', signal)
  if (code !== 0) throw new UsageError(`--ssh ${host}: expected ${way} to be forwarded, got: ${stderr.trim()}`)
  return async () => void (await runToEnd(order('cancel'), '', NEVER))
}
