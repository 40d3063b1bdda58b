import { coresOf } from '../../load/system/machine.js'

/**
 * @import { startListening } from '../../load/system/listening.js'
 * @import { Target } from '../../load/targets/index.js'
 */

/**
 * Opens a target that consists of several services, the last of which receives the load. They are stopped together, the last one
 * first, also if one of them does not start.
 * @typedef {Pick<Target, 'pid' | 'died' | 'stop'>} Service
 * @param {(services: Service[]) => Promise<Omit<Target, 'kind' | 'adminUrl' | 'metricsUrl' | 'pid' | 'cores' | 'died' | 'stop'>>} start
 *   adds each service as soon as it has started
 * @returns {Promise<Target>}
 */
export async function openGroup(start) {
  /** @type {Service[]} */
  const services = []
  const stop = async () => {
    for (const service of services.toReversed()) await service.stop()
  }
  try {
    const own = await start(services)
    const pid = Number(services.at(-1)?.pid)
    const died = Promise.race(services.map((service) => service.died))
    died.catch(() => {})
    return { ...own, kind: 'local', adminUrl: null, metricsUrl: null, pid, cores: coresOf(pid), died, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** The ports of a program, once it is one of the services. @param {ReturnType<typeof startListening>} started @param {Service[]} services */
export async function portsOf(started, services) {
  const { service, ports } = await started
  services.push(service)
  return ports
}
