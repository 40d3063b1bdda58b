import { coresOf, nofileOf } from '../system/machine.js'
import { watchProcess } from './process.js'

/** @import { Probe } from './index.js' */

/** Watches the resource use of the generator's process and its child programs. @param {{ pid: number }} generator @returns {Probe} */
export function watchGenerator({ pid }) {
  const use = watchProcess(pid)
  const started_ms = performance.now()
  return {
    end() {
      const own = use()
      const wall_s = (performance.now() - started_ms) / 1000
      const limits = { open_files_max: nofileOf(pid), cores: coresOf(pid) }
      return async ({ sent, lateness_ms, hosts, children_cpu_s = 0, connecting_cpu_s = 0 }) => {
        // Each load host reports its own use; this machine generates no load.
        if (hosts) return { ...ofHosts(hosts, sent), lateness_ms }
        const extra_s = children_cpu_s - connecting_cpu_s
        const cpu_s = (own?.cpu_s ?? 0) + extra_s
        const all = own ? { cpu_s, cpu_core_ratio: own.cpu_core_ratio + extra_s / wall_s } : {}
        const each = own && sent > 0 ? { cpu_us_per_request: (cpu_s * 1e6) / sent } : {}
        return { ...own, ...all, ...each, ...limits, lateness_ms }
      }
    },
  }
}

/** @param {{ cpu_s: number | null }[]} hosts @param {number} sent */
function ofHosts(hosts, sent) {
  if (hosts.some(({ cpu_s }) => cpu_s === null)) return {}
  const cpu_s = hosts.reduce((sum, host) => sum + Number(host.cpu_s), 0)
  return { cpu_s, ...(sent > 0 && { cpu_us_per_request: (cpu_s * 1e6) / sent }) }
}
