import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { findPostmaster } from '../../../load/probes/postgres.js'
import { openSession } from '../../knobs/session.js'

/** @import { Plant } from './index.js' */

/** Version 1 of control groups, in which a group may hold both processes and child groups (Linux's cgroup-v1/cgroups.rst). */
const ROOT = '/sys/fs/cgroup/cpu'

/**
 * Limits the processes $3 … to $2 us of CPU in every 100 ms, by a new group $1, until stdin closes, at the latest when we exit. Then all
 * processes in the group by that time move back. The group can be removed once its last process has gone.
 */
const THROTTLE = `
  group="$1"; quota_us="$2"; shift 2
  mkdir "$group" && echo 100000 > "$group/cpu.cfs_period_us" && echo "$quota_us" > "$group/cpu.cfs_quota_us" || { rmdir "$group"; exit 1; }
  # A process of the list may have ended meanwhile.
  for pid in "$@"; do echo "$pid" > "$group/cgroup.procs"; done
  read -r any < "$group/cgroup.procs" || { rmdir "$group"; exit 1; }
  echo throttled
  cat
  for i in $(seq 100); do
    while read -r pid; do echo "$pid" > "$group/../cgroup.procs"; done < "$group/cgroup.procs"
    rmdir "$group" && exit
    sleep 0.1
  done
  exit 1`

/** @returns {string | null} the reason why no control group with a quota can be created here, or null if one can */
export function quotaProblem() {
  // In a group's list, 0 means the process that writes it.
  const { status, stderr } = spawnSync('sh', throttle(`probe-${process.pid}`, 5, [0]), { encoding: 'utf8', input: '' })
  return status === 0 ? null : `no control group with a CPU quota (version 1, as root): ${stderr.trim()}`
}

/** Limits the API to this many ms of CPU in every 100. @param {number} quota_ms @returns {Plant} */
export function throttleApi(quota_ms) {
  return ({ api: { pid } }) => throttled(quota_ms, [pid])
}

/** Limits Postgres in the same way, with all its present and future processes. @param {number} quota_ms @returns {Plant} */
export function throttlePostgres(quota_ms) {
  return async ({ databaseUrl }) => {
    const session = await openSession(databaseUrl)
    const query = async (/** @type {string} */ text) => (await session.query(text)).rows
    const postmaster = await findPostmaster({ query }).finally(() => session.end())
    if (postmaster === null) throw new Error('expected a Postgres on this machine, found none to throttle')
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').split(' ').filter(Boolean)
    return throttled(quota_ms, [postmaster, ...children.map(Number)])
  }
}

/** @param {number} quota_ms @param {number[]} pids */
async function throttled(quota_ms, pids) {
  const command = throttle(String(pids[0]), quota_ms, pids)
  const child = spawn('sh', command, { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const [answer] = await Promise.race([once(child.stdout, 'data'), ended])
  if (String(answer).trim() !== 'throttled') throw new Error(`expected a CPU quota for process ${pids[0]}, got none`)
  return async () => {
    child.stdin.end()
    await ended
  }
}

/** @param {string} name of the group @param {number} quota_ms @param {number[]} pids */
function throttle(name, quota_ms, pids) {
  const [, own = '/'] = /^\d+:(?:cpu|cpu,cpuacct):(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
  const group = `${ROOT}${own}`.replace(/\/$/, '')
  return ['-c', THROTTLE, 'sh', `${group}/redline-${name}`, ...[quota_ms * 1000, ...pids].map(String)]
}
