import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { leashed } from '../../sql/leash.js'

/**
 * @import { ChildProcess, SpawnOptions, StdioOptions } from 'node:child_process'
 * @import { Readable } from 'node:stream'
 */

/** Starts a program that the kernel kills when we end. @param {string[]} command @param {SpawnOptions} options */
export function spawnLeashed(command, options) {
  const [program, ...args] = leashed(command, { signal: 'KILL' })
  return spawn(program, args, options)
}

/** Reads a stream of text. @param {Readable | null} stream @returns {() => string} what has come so far */
export function collect(stream) {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk) => {
    text += chunk
  })
  return () => text
}

/**
 * Starts a program as a child that ends with us, on the cores it is given.
 *
 * @param {string[]} command program and arguments
 * @param {object} options
 * @param {string | null} options.cores list such as "0" or "1-3"; null: where we are
 * @param {number | string | null} [options.nofile] limit of open files, soft and hard: Node raises the soft one to the
 *   hard one; a text is given to prlimit as it is
 * @param {NodeJS.ProcessEnv} [options.env]
 * @param {StdioOptions} options.stdio
 * @returns {Child}
 */
export function startChild(command, { cores, nofile = null, env, stdio }) {
  const pinned = cores === null ? [] : ['taskset', '-c', cores]
  const limits = typeof nofile === 'number' ? `${nofile}:${nofile}` : nofile
  const limited = limits === null ? [] : ['prlimit', `--nofile=${limits}`]
  // A process group of its own: Ctrl-C on the terminal is for the lab, which stops its children in order.
  const child = spawnLeashed([...pinned, ...limited, ...command], { env, stdio, detached: true })
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  exited.catch(() => {})
  const isRunning = () => child.exitCode === null && child.signalCode === null
  const kill = () => {
    try {
      if (isRunning() && child.pid) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // It has just ended.
    }
  }
  return {
    child,
    exited,
    kill,
    stop: async (grace_ms) => {
      if (!isRunning()) return
      child.kill('SIGTERM')
      const timer = setTimeout(kill, grace_ms)
      await exited
      clearTimeout(timer)
    },
  }
}

/**
 * @typedef {object} Child
 * @property {ChildProcess} child
 * @property {Promise<{ code: number | null, signal: string | null }>} exited rejects when it could not be started
 * @property {() => void} kill SIGKILL, at once and also to the processes that it started, unless they left its group
 * @property {(grace_ms: number) => Promise<void>} stop SIGTERM, and `kill` where it still runs after the grace
 */

/** Puts this process, and with it every child it starts from now on, on these cores. @param {string} cores */
export function pinSelf(cores) {
  return spawnSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)]).status === 0
}

/**
 * Programs that we have built or fetched are run again later. Whoever may write to such a file, or to its folder, would have
 * us run a program of theirs.
 *
 * @param {string} file
 * @returns {string | null} what is wrong, completing "got …"; null: it is ours or root's, and nobody else may write to it
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

/** @param {string} file @returns {boolean} whether it is there and fit to be run */
export function isOwnProgram(file) {
  return existsSync(file) && foreignProgram(file) === null
}
