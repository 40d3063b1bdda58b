import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'

/** @import { Plant } from './index.js' */

/** Version 1 of control groups, where a group may have processes and groups below it (Linux' cgroup-v1/cgroups.rst). */
const ROOT = '/sys/fs/cgroup/cpu'

/**
 * Grants process $2 5 ms of CPU in every 100 ms, by a group $1, until stdin ends, as it does with us. The group can be removed once
 * its last process has gone.
 */
const THROTTLE = `
  mkdir "$1" && echo 100000 > "$1/cpu.cfs_period_us" && echo 5000 > "$1/cpu.cfs_quota_us" &&
    echo "$2" > "$1/cgroup.procs" || { rmdir "$1"; exit 1; }
  echo throttled
  cat
  echo "$2" > "$1/../cgroup.procs"
  for i in $(seq 100); do rmdir "$1" && exit; sleep 0.1; done
  exit 1`

/** @returns {string | null} why no control group with a quota can be made here; null: it can */
export function quotaProblem() {
  // In a group's list, 0 is the process that writes it.
  const { status, stderr } = spawnSync('sh', throttle(`probe-${process.pid}`, 0), { encoding: 'utf8', input: '' })
  return status === 0 ? null : `no control group with a CPU quota (version 1, as root): ${stderr.trim()}`
}

/** The API may use 5 ms of CPU in every 100 ms. @type {Plant} */
export async function throttleApi({ api: { pid } }) {
  const child = spawn('sh', throttle(String(pid), pid), { detached: true, stdio: ['pipe', 'pipe', 'ignore'] })
  const ended = once(child, 'exit')
  const [answer] = await Promise.race([once(child.stdout, 'data'), ended])
  if (String(answer).trim() !== 'throttled') throw new Error(`expected a CPU quota for process ${pid}, got none`)
  return async () => {
    child.stdin.end()
    await ended
  }
}

/** @param {string} name of the group @param {number} pid */
function throttle(name, pid) {
  const [, own = '/'] = /^\d+:(?:cpu|cpu,cpuacct):(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
  const group = `${ROOT}${own}`.replace(/\/$/, '')
  return ['-c', THROTTLE, 'sh', `${group}/redline-${name}`, String(pid)]
}
