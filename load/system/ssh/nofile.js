import { spawnSync } from 'node:child_process'
import os from 'node:os'
import { UsageError } from '../../command/errors.js'
import { nofileOf } from '../machine.js'

/** The limit that this process began with, which the API gets by default even after we have raised ours. */
const own = nofileOf('self')

/**
 * The limit of open files for a child. Raises our own limit if necessary: a child inherits it, and only root can raise a hard limit.
 * @param {number | string | null} wanted as startChild takes it; null: unchanged
 * @throws {UsageError} if this user may not have that many
 */
export function limitFor(wanted) {
  const now = nofileOf('self')
  if (own === null || now === null) return wanted
  if (wanted === null) return now > own ? own : null
  // Sets the soft limit only: the hard limit stays the user's, not the one that this process was raised to.
  if (String(wanted).endsWith(':')) return now > own ? `${wanted}${own}` : wanted
  const hard = Number(String(wanted).split(':').at(-1) || own)
  if (hard <= now || process.getuid?.() === 0) return wanted
  const prlimit = ['-n', 'prlimit', `--pid=${process.pid}`, `--nofile=${hard}:${hard}`]
  const { status, stderr, error } = spawnSync('sudo', prlimit, { encoding: 'utf8' })
  if (status === 0) return wanted
  const { username } = os.userInfo()
  const why = error ? error.message : stderr.trim().split('\n')[0]
  throw new UsageError(
    `NOFILE: expected at most ${own}, the hard limit of ${username} on ${os.hostname()}, got ${hard}, and sudo does not raise it (${why}): ` +
      `put "${username} hard nofile ${hard}" into /etc/security/limits.conf there, or LimitNOFILE=${hard} into the unit that starts the session`,
  )
}
