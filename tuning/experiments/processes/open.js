import { coresOf, expandCores } from '../../../load/system/machine.js'
import { openLocal } from '../../../load/targets/index.js'
import { startHaproxy } from '../../knobs/haproxy.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Setup } from './design.js'
 * @import { ProcessesPlan } from './processes.js'
 */

/**
 * One API process, or several behind HAProxy, each on a core of its own as long as there are enough.
 * @param {any} setup @param {Place} place @param {ProcessesPlan} plan @returns {Promise<Target>}
 */
export async function openSetup(setup, place, { haproxy }) {
  const { processes: count, front } = /** @type {Setup} */ (setup)
  if (front === 'direct') return openLocal(place)
  const cores = expandCores(place.allCores ?? '')
  /** @type {Target[]} */
  const apis = []
  /** @type {Pick<Target, 'died' | 'stop'>[]} */
  const services = []
  const stop = async () => {
    for (const service of services.toReversed()) await service.stop()
  }
  try {
    for (let i = 0; i < count; i++) {
      apis.push(await openLocal({ ...place, cores: cores.length > 0 ? String(cores[i % cores.length]) : null }))
      services.push(apis[i])
    }
    const servers = apis.map(({ url }, i) => ({ name: `api-${i + 1}`, port: Number(new URL(url).port) }))
    const backend = { balance: 'leastconn', servers, watched: false, retries: false }
    const { service, ports } = await startHaproxy(haproxy.program, { ...place, cores: null }, backend)
    services.push(service)
    const died = Promise.race(services.map((one) => one.died))
    died.catch(() => {})
    return {
      ...{
        kind: 'local',
        url: `http://127.0.0.1:${ports[0]}/user`,
        adminUrl: null,
        metricsUrl: null,
        countsRows: true,
      },
      ...{ pid: service.pid, cores: coresOf(service.pid), died, stop },
      settings: { ...apis[0].settings, PROCESSES: count, API_CORES: apis.flatMap((api) => api.cores ?? []).join(' ') },
    }
  } catch (error) {
    await stop()
    throw error
  }
}
