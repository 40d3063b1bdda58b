import path from 'node:path'
import { textOf } from '../system/machine.js'

const ROOT = '/sys/fs/cgroup'

/**
 * The CPU quota of our control group in cores; Infinity if there is none, null if unknown.
 * @param {string} [root] where control groups are mounted @param {string | null} [groups] /proc/self/cgroup
 */
export function cpuQuotaCores(root = ROOT, groups = textOf('/proc/self/cgroup')) {
  const limited = limitedGroups(root, groups)
  return limited && Math.min(Number.POSITIVE_INFINITY, ...limited.map(({ cores }) => cores))
}

/**
 * The CPU quota of a process, and the total time for which its control groups have been throttled; null if it has no known quota.
 * @param {number} pid @param {string} [root] @param {string | null} [groups] /proc/PID/cgroup
 */
export function cpuThrottling(pid, root = ROOT, groups = textOf(`/proc/${pid}/cgroup`)) {
  const limited = limitedGroups(root, groups) ?? []
  if (limited.length === 0) return null
  return {
    quota_cores: Math.min(...limited.map(({ cores }) => cores)),
    throttled_s: limited.reduce((sum, { folder }) => sum + throttledTime_s(textOf(`${folder}/cpu.stat`) ?? ''), 0),
  }
}

/** cgroup v2 counts microseconds (Linux' cgroup-v2.rst), v1 nanoseconds (sched-bwc.rst). @param {string} stat */
function throttledTime_s(stat) {
  const [, usec] = /^throttled_usec (\d+)$/m.exec(stat) ?? []
  const [, ns] = /^throttled_time (\d+)$/m.exec(stat) ?? []
  return usec ? Number(usec) / 1e6 : Number(ns ?? 0) / 1e9
}

/** The groups with a quota among a process's control group and its ancestors; null if none is visible. @param {string} root @param {string | null} groups */
function limitedGroups(root, groups) {
  const own = groups === null ? null : cpuGroup(root, groups)
  if (own === null) return null
  const limited = []
  // A container may see a path that exists only on its host. Missing folders count as having no quota; the container's root exists.
  for (let folder = path.join(own.root, own.group); folder.startsWith(own.root); folder = path.dirname(folder)) {
    const [quota_us, period_us] = quotaOf(folder)
    if (quota_us > 0) limited.push({ folder, cores: quota_us / period_us })
  }
  return limited
}

/** The process's CPU control group in cgroup v2, or else in v1. @param {string} root @param {string} groups */
function cpuGroup(root, groups) {
  const [, unified] = /^0::(\/.*)$/m.exec(groups) ?? []
  if (unified !== undefined && textOf(`${root}/cgroup.controllers`) !== null) return { root, group: unified }
  const [, controllers, group] = /^\d+:(cpu|cpu,cpuacct|cpuacct,cpu):(\/.*)$/m.exec(groups) ?? []
  return group === undefined ? null : { root: path.join(root, controllers), group }
}

/** Quota and period, in µs: `100000 100000` or `max 100000` in cgroup v2 (cgroup-v2.rst); -1 means none in v1 (sched-bwc.rst). @param {string} folder */
function quotaOf(folder) {
  const version1 = () => ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => textOf(`${folder}/${name}`))
  return (textOf(`${folder}/cpu.max`)?.split(' ') ?? version1()).map(Number)
}
