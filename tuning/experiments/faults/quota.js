import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'

/** @import { Plant } from './index.js' */

/** Version 1 of control groups, where a group may have processes and groups below it (Linux' cgroup-v1/cgroups.rst). */
const ROOT = '/sys/fs/cgroup/cpu'
const PERIOD_US = 100_000
const QUOTA_US = 5000

/** Removes the group when its stdin ends, and we with it; a group goes once its last process has gone. */
const REMOVE = 'cat; for i in $(seq 100); do rmdir "$1" && exit; sleep 0.1; done'

/** @returns {string | null} why no control group with a quota can be made here; null: it can */
export function quotaProblem() {
  try {
    rmdirSync(makeGroup(`redline-probe-${process.pid}`))
    return null
  } catch (error) {
    return `no control group with a CPU quota (version 1, as root): ${/** @type {Error} */ (error).message}`
  }
}

/** The API may use 5 ms of CPU in every 100 ms. @type {Plant} */
export async function throttleApi({ api: { pid } }) {
  const group = makeGroup(`redline-${pid}`)
  const remover = spawn('sh', ['-c', REMOVE, 'sh', group], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] })
  const removed = once(remover, 'exit')
  writeFileSync(`${group}/cgroup.procs`, String(pid))
  return async () => {
    moveBack(pid)
    remover.stdin?.end()
    await removed
  }
}

/** @param {string} name @returns {string} its folder */
function makeGroup(name) {
  const group = `${ownGroup()}/${name}`
  mkdirSync(group, { recursive: true })
  writeFileSync(`${group}/cpu.cfs_period_us`, String(PERIOD_US))
  writeFileSync(`${group}/cpu.cfs_quota_us`, String(QUOTA_US))
  return group
}

/** @param {number} pid of a process that may have ended */
function moveBack(pid) {
  try {
    writeFileSync(`${ownGroup()}/cgroup.procs`, String(pid))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ESRCH') throw error
  }
}

function ownGroup() {
  const [, own = '/'] = /^\d+:(?:cpu|cpu,cpuacct):(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
  return `${ROOT}${own}`.replace(/\/$/, '')
}
