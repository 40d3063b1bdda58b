import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

/** @type {boolean | undefined} */
let hasSetpriv

/**
 * Puts a command on a leash: when this process ends in whatever way, kill -9 included, the kernel sends the command a signal.
 * Only Linux can (prctl PR_SET_PDEATHSIG, through util-linux' setpriv); elsewhere the command outlives us if we are killed.
 * @param {string[]} command program and arguments
 * @param {{ signal: 'KILL' | 'INT', user?: { uid: number, gid: number } }} options signal: sent when we die; user: runs the
 *   command, which only root can arrange
 * @returns {string[]} program and arguments; the process keeps its id
 */
export function leashed(command, { signal, user }) {
  hasSetpriv ??= spawnSync('setpriv', ['--pdeathsig=KILL', 'true']).status === 0
  if (!hasSetpriv) {
    if (user) throw new Error('expected setpriv (util-linux) on PATH to start a program as another user, found none')
    return command
  }
  const identity = user ? [`--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups'] : []
  return ['setpriv', ...identity, `--pdeathsig=${signal}`, ...command]
}

/**
 * Runs a command on a leash, to its end.
 * @param {string[]} command @param {Parameters<typeof leashed>[1]} leash @param {import('node:child_process').ExecFileOptions} [options]
 */
export function runLeashed(command, leash, options) {
  const [program, ...args] = leashed(command, leash)
  return promisify(execFile)(program, args, options)
}
