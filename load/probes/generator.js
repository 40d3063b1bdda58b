import { coresOf, nofileOf } from '../machine.js'
import { watchProcess } from './process.js'

/**
 * What the generator's process uses.
 *
 * @param {{ pid: number }} generator
 * @returns {import('./index.js').Probe}
 */
export function watchGenerator({ pid }) {
  const use = watchProcess(pid)
  return {
    async sample() {},

    end() {
      const own = use()
      const limits = { open_files_max: nofileOf(pid), cores: coresOf(pid) }
      return async ({ sent, lateness_ms }) => {
        const each = own && sent > 0 ? { cpu_us_per_request: (own.cpu_s * 1e6) / sent } : {}
        return { ...own, ...each, ...limits, lateness_ms }
      }
    },
  }
}
