import { expandCores } from '../../../load/system/machine.js'
import { openLocal } from '../../../load/targets/index.js'
import { openGroup, portsOf } from '../../knobs/group.js'
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
  return openGroup(async (services) => {
    /** @type {Target[]} */
    const apis = []
    for (let i = 0; i < count; i++) {
      apis.push(await openLocal({ ...place, cores: cores.length > 0 ? String(cores[i % cores.length]) : null }))
      services.push(apis[i])
    }
    const servers = apis.map(({ url }, i) => ({ name: `api-${i + 1}`, port: Number(new URL(url).port) }))
    const backend = { balance: 'leastconn', servers, watched: false, retries: false }
    const [port] = await portsOf(startHaproxy(haproxy.program, { ...place, cores: null }, backend), services)
    const own = { PROCESSES: count, API_CORES: apis.flatMap((api) => api.cores ?? []).join(' ') }
    return {
      url: `http://127.0.0.1:${port}/user`,
      countsRows: true,
      settings: { ...apis[0].settings, ...own },
    }
  })
}
