import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { realpathSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { leashed } from '../../sql/leash.js'
import { sendSignal } from '../../sql/signals.js'
import { planCores } from './machine.js'

/**
 * @import { ChildProcess, SpawnOptions, StdioOptions } from 'node:child_process'
 * @import { Readable } from 'node:stream'
 */

/**
 * Starts a program that the kernel kills when this process ends. @param {string[]} command @param {SpawnOptions} options
 * @param {'KILL' | 'INT'} [signal] INT: lets the program clean up
 */
export function spawnLeashed(command, options, signal = 'KILL') {
  const [program, ...args] = leashed(command, { signal })
  return spawn(program, args, options)
}

/** The version that a program prints. @param {string} program @param {string} flag @param {RegExp} pattern its first group is the version */
export function versionOf(program, flag, pattern) {
  return spawnSync(program, [flag], { encoding: 'utf8' }).stdout?.match(pattern)?.[1] ?? 'unknown'
}

/** Collects a stream of text; the returned function returns the text so far. @param {Readable | null} stream */
export function collect(stream) {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

/**
 * Starts a program that ends with this process, in a process group of its own: Ctrl-C on the terminal reaches only the lab, which
 * stops its children in order.
 * @param {string[]} command program and arguments
 * @param {{ cores: string | null, nofile?: number | string | null, env?: NodeJS.ProcessEnv, stdio: StdioOptions, cwd?: string,
 *   leash?: 'KILL' | 'INT' }} options
 *   cores: list such as "0" or "1-3"; null: ours; nofile: limit of open files, soft and hard, since Node raises the soft limit to the
 *   hard one; prlimit gets a string unchanged; leash: signal that it gets when this process ends
 */
export function startChild(command, { cores, nofile = null, env, stdio, cwd, leash = 'KILL' }) {
  const pinned = cores === null ? [] : ['taskset', '-c', cores]
  const limits = typeof nofile === 'number' ? `${nofile}:${nofile}` : nofile
  const limited = limits === null ? [] : ['prlimit', `--nofile=${limits}`]
  const child = spawnLeashed([...pinned, ...limited, ...command], { env, stdio, cwd, detached: true }, leash)
  running.set(child, `SIG${leash}`)
  child.once('exit', () => running.delete(child))
  /** @type {Promise<{ code: number | null, signal: string | null }>} rejects if the program cannot be started */
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  exited.catch(() => {})
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const kill = () => {
    if (isRunning()) killGroup(child)
  }
  return {
    child,
    exited,
    kill,
    /** Sends SIGTERM, then SIGKILL if it still runs after the grace period. @param {number} grace_ms */
    stop: async (grace_ms) => {
      if (!isRunning()) return
      child.kill('SIGTERM')
      const timer = setTimeout(kill, grace_ms)
      await exited
      clearTimeout(timer)
    },
  }
}

/** @typedef {ReturnType<typeof startChild>} Child */

/** @type {Map<ChildProcess, NodeJS.Signals>} running children, and the signal that each gets when this process exits */
const running = new Map()
// The kernel ends them, too, but not on every system.
process.once('exit', () => {
  for (const [child, signal] of running) killGroup(child, signal)
})

/** Sends a signal to the process group of a detached child. @param {ChildProcess} child @param {NodeJS.Signals} [signal] */
export function killGroup({ pid }, signal = 'SIGKILL') {
  if (pid) sendSignal(-pid, signal)
}

/**
 * Changes a process's priority; raising it takes a privilege. Its nice value alone would count only within its session: each of Postgres's
 * backends is a session of its own, and gets as much CPU as any other (sched(7), autogroup).
 * @param {number} pid @param {number} nice -20 is the highest priority (setpriority(2))
 */
export function setPriority(pid, nice) {
  try {
    os.setPriority(pid, nice)
    writeFileSync(`/proc/${pid}/autogroup`, String(nice))
  } catch {
    // Only root may raise it; for other users, the generator's recorded lateness shows whether it mattered.
  }
}

/** Moves this process, and all that it starts from now on, off the API's core; null: nothing is pinned. */
export function pinToCores() {
  const cores = planCores()
  return cores !== null && pinSelf(cores.others) ? cores : null
}

/** Pins this process, and all that it starts from now on. @param {string} cores */
export function pinSelf(cores) {
  return spawnSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)]).status === 0
}

/**
 * Checks a program that we built or fetched earlier: if others may write to the file or its folder, we might run their code. Returns
 * what completes "got …", or null if it is ours or root's and nobody else may write to it.
 * @param {string} file
 */
export function foreignProgram(file) {
  const real = realpathSync(file)
  for (const one of new Set([path.dirname(file), path.dirname(real), real])) {
    const { uid, mode } = statSync(one)
    const isOurs = uid === process.getuid?.() || uid === 0
    if (!isOurs || (mode & 0o022) !== 0) return `${one} of uid ${uid}, mode ${(mode & 0o777).toString(8)}`
  }
  return null
}
