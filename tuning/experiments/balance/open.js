import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { coresOf, expandCores, planCores } from '../../../load/system/machine.js'
import { isListening, onFreePorts } from '../../../load/system/ports.js'
import { pinSelf } from '../../../load/system/processes.js'
import { startService } from '../../../load/system/service.js'
import { openLocal } from '../../../load/targets/index.js'
import { oncePerPlan } from '../../stats/design.js'
import { evenEndpoints, instantEndpoint, unevenEndpoints } from './endpoints.js'
import { haproxyConfig } from './haproxy.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { BalancePlan } from './plan.js'
 * @import { BalanceCell } from './steps.js'
 */

const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const ENDPOINTS = fileURLToPath(new URL('endpoint-server.js', import.meta.url))
const STOP_GRACE_MS = 500

/**
 * The cores of a run: the balancer or the API has one, the lab and all others have the rest. A plan without the API needs no
 * bench that would move the lab aside. Called first before the bench opens: a lab that was moved sees fewer cores.
 */
export const coresFor = oncePerPlan((/** @type {BalancePlan} */ { url }) => {
  const cores = planCores()
  return !url || (cores && pinSelf(cores.others)) ? cores : null
})

/** Which core had what. @param {ReturnType<typeof planCores>} cores @param {boolean} hasProcesses of the API */
export function pinningText(cores, hasProcesses) {
  if (!cores) return 'Nothing was pinned: this system has one core, or no taskset.'
  const { api, others } = cores
  const balancer = `The balancer ran on core ${api} alone, the endpoints, the generator and the lab on core ${others}.`
  if (!hasProcesses) return balancer
  return `${balancer} In front of API processes HAProxy was not pinned; they took turns on the cores ${api},${others}.`
}

/**
 * The target of a cell: endpoints with a balancer in front of them, or API processes.
 *
 * @param {BalanceCell} cell
 * @param {Place} place
 * @param {BalancePlan} plan
 *
 * @typedef {{ plan: BalancePlan, strategy: string, place: Place }} Opening
 */
export function openStrategy({ part, strategy }, place, plan) {
  const own = { ...place, cores: place.cores ?? coresFor(plan)?.api ?? null }
  const opening = { plan, strategy, place: own }
  return part === 'processes' ? openProcesses(opening) : openEndpoints(part, opening)
}

/** @param {Exclude<BalanceCell['part'], 'processes'>} part @param {Opening} opening @returns {Promise<Target>} */
async function openEndpoints(part, opening) {
  const { plan, strategy, place } = opening
  const { slots, mix, fails } = plan
  const endpoints = endpointsOf(part, plan)
  const names = endpoints.map(({ name }) => name)
  const servers = await start('the endpoints', unpinned(place), names.length + 1, ([adminPort, ...ports]) => {
    return [process.execPath, ENDPOINTS, JSON.stringify({ endpoints, ports, adminPort, slots })]
  })
  const [adminPort, ...ports] = servers.ports
  const admin = `http://127.0.0.1:${adminPort}`
  const window = part === 'overhead' ? { from_s: 0, to_s: 0 } : fails[part]
  try {
    const named = names.map((name, i) => ({ name, port: ports[i] }))
    const front = strategy === 'direct' ? { services: [], ports } : await openFront(named, opening)
    return {
      ...serviceTarget([...front.services, ...servers.services], front.ports[0], '/'),
      disturb: async (_, at) => {
        // The same draws for every strategy of a block, others in every block.
        await post(`${admin}/reset`, { seed: mix.seed + at.block })
        if (front.reset) await post(front.reset)
        return async () => {}
      },
      watch: async () => {
        await post(`${admin}/begin`, window)
        const counts = async () => ({ .../** @type {any} */ (await post(admin)), names, ...window })
        return { sample: async () => {}, end: () => counts }
      },
    }
  } catch (error) {
    await servers.services[0].stop()
    throw error
  }
}

/** @param {string} part @param {BalancePlan} plan */
function endpointsOf(part, { endpoints, slow }) {
  if (part === 'overhead') return instantEndpoint()
  return part === 'failing' ? evenEndpoints(endpoints) : unevenEndpoints(endpoints, slow)
}

/** @param {{ name: string, port: number }[]} endpoints @param {Opening} opening @returns {Promise<Started>} */
async function openFront(endpoints, { plan, strategy, place }) {
  if (strategy.startsWith('haproxy')) {
    const balance = strategy === 'haproxy-random' ? 'random(2)' : 'leastconn'
    const config = { balance, servers: endpoints, watched: true, retries: strategy === 'haproxy-retry' }
    return startHaproxy(plan, config, place)
  }
  const { parameters } = plan
  const started = await start(`the ${strategy} proxy`, place, 2, ([port, adminPort]) => {
    return [process.execPath, PROXY, JSON.stringify({ strategy, endpoints, parameters, port, adminPort })]
  })
  return { ...started, reset: `http://127.0.0.1:${started.ports[1]}/reset` }
}

/** Several processes of the API behind HAProxy. @param {Opening} opening @returns {Promise<Target>} */
async function openProcesses({ plan, strategy, place }) {
  if (strategy === 'direct') return openLocal(place)
  // Each on a core of its own while there are cores.
  const cores = expandCores(place.allCores ?? '')
  const count = Number(strategy)
  /** @type {Target[]} */
  const apis = []
  try {
    for (let i = 0; i < count; i++) {
      apis.push(await openLocal({ ...place, cores: cores.length > 0 ? String(cores[i % cores.length]) : null }))
    }
    const servers = apis.map(({ url }, i) => ({ name: `api-${i + 1}`, port: Number(new URL(url).port) }))
    const config = { balance: 'leastconn', servers, watched: false, retries: false }
    const { services, ports } = await startHaproxy(plan, config, unpinned(place))
    const settings = { ...apis[0].settings, PROCESSES: count, API_CORES: apis.map((api) => api.cores).join(' ') }
    return { ...serviceTarget([...services, ...apis.toReversed()], ports[0], '/user'), countsRows: true, settings }
  } catch (error) {
    for (const api of apis.toReversed()) await api.stop()
    throw error
  }
}

/** @param {BalancePlan} plan @param {Omit<Parameters<typeof haproxyConfig>[0], 'port'>} config @param {Place} place */
function startHaproxy({ haproxy }, config, place) {
  const file = path.join(path.dirname(place.logFile), 'haproxy.cfg')
  return start('HAProxy', place, 1, ([port]) => {
    writeFileSync(file, haproxyConfig({ ...config, port }))
    return [String(haproxy), '-db', '-f', file]
  })
}

/** @param {Place} place */
function unpinned(place) {
  return { ...place, cores: null }
}

/**
 * Starts a program, which is ready when it listens on all of its ports.
 *
 * @param {string} name
 * @param {Place} place
 * @param {number} count of ports
 * @param {(ports: number[]) => string[]} commandOn
 * @returns {Promise<Started>}
 *
 * @typedef {Pick<Target, 'pid' | 'died' | 'stop'>} Service
 * @typedef {{ services: Service[], ports: number[], reset?: string }} Started reset: URL where it forgets what it has learned
 */
async function start(name, { cores, env, logFile }, count, commandOn) {
  const { service, ports } = await onFreePorts(count, (ports) => {
    const isReady = async () => (await Promise.all(ports.map(isListening))).every(Boolean)
    return startService(name, commandOn(ports), { cores, env, logFile, isReady, stopGrace_ms: STOP_GRACE_MS })
  })
  return { services: [service], ports }
}

/**
 * @param {Service[]} services in the order in which they stop; the first is loaded
 * @param {number} port
 * @param {string} pathname
 * @returns {Target}
 */
function serviceTarget(services, port, pathname) {
  const [{ pid }] = services
  const died = Promise.race(services.map((service) => service.died))
  died.catch(() => {})
  const stop = async () => {
    for (const service of services) await service.stop()
  }
  const url = `http://127.0.0.1:${port}${pathname}`
  const nothing = { adminUrl: null, metricsUrl: null, settings: {} }
  return { kind: 'local', countsRows: false, url, ...nothing, pid, cores: coresOf(Number(pid)), died, stop }
}

/** @param {string} url @param {object} [body] @returns {Promise<unknown>} */
async function post(url, body) {
  const answer = await fetch(url, { method: 'POST', body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(`expected 200 from ${url}, got ${answer.status}`)
  return answer.json()
}
