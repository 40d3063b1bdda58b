import path from 'node:path'
import { textOf } from '../system/machine.js'

const ROOT = '/sys/fs/cgroup'

/**
 * How many cores' time our control group may use, by the tightest quota of its own and those above it.
 *
 * @param {string} [root] where control groups are mounted
 * @param {string | null} [groups] /proc/self/cgroup
 * @returns {number | null} Infinity: no quota; null: it cannot be seen here
 */
export function cpuQuotaCores(root = ROOT, groups = textOf('/proc/self/cgroup')) {
  const own = groups === null ? null : (versionTwo(root, groups) ?? versionOne(root, groups))
  if (own === null) return null
  let least = Number.POSITIVE_INFINITY
  // A container may be told a path that only its host has: what is not there has no quota, and its own root is.
  for (let folder = own.folder; folder.startsWith(own.root); folder = path.dirname(folder)) {
    const [quota_us, period_us] = own.read(folder)
    if (quota_us > 0) least = Math.min(least, quota_us / period_us)
  }
  return least
}

/** cpu.max holds `100000 100000` or `max 100000` (Linux' cgroup-v2.rst). @param {string} root @param {string} groups */
function versionTwo(root, groups) {
  const group = /^0::(\/.*)$/m.exec(groups)?.[1]
  if (group === undefined || textOf(`${root}/cgroup.controllers`) === null) return null
  const read = (/** @type {string} */ folder) => (textOf(`${folder}/cpu.max`) ?? '').split(' ').map(Number)
  return { root, folder: path.join(root, group), read }
}

/** cpu.cfs_quota_us is -1 where there is none (Linux' sched-bwc.rst). @param {string} root @param {string} groups */
function versionOne(root, groups) {
  const [, controllers, group] = /^\d+:(cpu|cpu,cpuacct|cpuacct,cpu):(\/.*)$/m.exec(groups) ?? []
  if (group === undefined) return null
  const read = (/** @type {string} */ folder) => {
    return [Number(textOf(`${folder}/cpu.cfs_quota_us`) ?? -1), Number(textOf(`${folder}/cpu.cfs_period_us`))]
  }
  return { root: path.join(root, controllers), folder: path.join(root, controllers, group), read }
}
