import path from 'node:path'
import { textOf } from '../system/machine.js'

const ROOT = '/sys/fs/cgroup'

/**
 * How many cores' time our control group may use, by the tightest quota of its own and those above it.
 *
 * @param {string} [root] where control groups are mounted @param {string | null} [groups] /proc/self/cgroup
 * @returns {number | null} Infinity: no quota; null: it cannot be seen here
 */
export function cpuQuotaCores(root = ROOT, groups = textOf('/proc/self/cgroup')) {
  const limited = limitedGroups(root, groups)
  return limited && Math.min(Number.POSITIVE_INFINITY, ...limited.map(({ cores }) => cores))
}

/**
 * The tightest CPU quota of a process, and for how long quotas have kept its control groups from running so far. Null: no
 * quota, or it cannot be seen here.
 *
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

/** Version 2 counts microseconds (Linux' cgroup-v2.rst), version 1 nanoseconds (sched-bwc.rst). @param {string} stat */
function throttledTime_s(stat) {
  const [, usec] = /^throttled_usec (\d+)$/m.exec(stat) ?? []
  const [, ns] = /^throttled_time (\d+)$/m.exec(stat) ?? []
  return usec ? Number(usec) / 1e6 : Number(ns ?? 0) / 1e9
}

/**
 * The control groups with a CPU quota, of a process's own and those above it.
 *
 * @param {string} root @param {string | null} groups
 * @returns {{ folder: string, cores: number }[] | null} null: none for CPU can be seen here
 */
function limitedGroups(root, groups) {
  const own = groups === null ? null : cpuGroup(root, groups)
  if (own === null) return null
  const limited = []
  // A container may be told a path that only its host has: what is not there has no quota, and its own root is.
  for (let folder = path.join(own.root, own.group); folder.startsWith(own.root); folder = path.dirname(folder)) {
    const [quota_us, period_us] = quotaOf(folder)
    if (quota_us > 0) limited.push({ folder, cores: quota_us / period_us })
  }
  return limited
}

/** Of version 2, else of version 1. @param {string} root @param {string} groups */
function cpuGroup(root, groups) {
  const [, unified] = /^0::(\/.*)$/m.exec(groups) ?? []
  if (unified !== undefined && textOf(`${root}/cgroup.controllers`) !== null) return { root, group: unified }
  const [, controllers, group] = /^\d+:(cpu|cpu,cpuacct|cpuacct,cpu):(\/.*)$/m.exec(groups) ?? []
  return group === undefined ? null : { root: path.join(root, controllers), group }
}

/**
 * Quota and period. Version 2 has `100000 100000` or `max 100000` (Linux' cgroup-v2.rst); in version 1 the quota is -1
 * where there is none (sched-bwc.rst).
 *
 * @param {string} folder
 */
function quotaOf(folder) {
  const version1 = () => ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].map((name) => textOf(`${folder}/${name}`))
  return (textOf(`${folder}/cpu.max`)?.split(' ') ?? version1()).map(Number)
}
