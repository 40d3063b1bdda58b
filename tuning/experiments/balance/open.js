import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { coresOf, expandCores, planCores } from '../../../load/system/machine.js'
import { isListening, onFreePorts } from '../../../load/system/ports.js'
import { pinSelf } from '../../../load/system/processes.js'
import { startService } from '../../../load/system/service.js'
import { openLocal } from '../../../load/targets/index.js'
import { oncePerPlan } from '../../stats/design.js'
import { evenEndpoints, INSTANT, unevenEndpoints } from './endpoints.js'
import { HAPROXY, haproxyConfig } from './haproxy.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { BalancePlan } from './balance.js'
 * @import { MeasuredPart } from './steps.js'
 * @typedef {Pick<Target, 'pid' | 'died' | 'stop'>} Service
 * @typedef {{ name: string, port: number }} Server
 * @typedef {{ plan: BalancePlan, strategy: string, place: Place, services: Service[] }} Opening services: started so far
 */

const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const ENDPOINTS = fileURLToPath(new URL('endpoint-server.js', import.meta.url))
const STOP_GRACE_MS = 500

/**
 * The cores of a run: one for the balancer or the API, the rest for the lab and everything else. Without the API, nothing else
 * moves the lab to its cores, so it moves itself. The first call must precede any move: a lab that has moved sees fewer cores.
 */
export const coresFor = oncePerPlan((/** @type {BalancePlan} */ { url }) => {
  const cores = planCores()
  return !url || (cores && pinSelf(cores.others)) ? cores : null
})

/** Describes what ran on which core. @param {ReturnType<typeof planCores>} cores @param {boolean} hasProcesses of the API */
export function pinningText(cores, hasProcesses) {
  if (!cores) return 'Nothing was pinned: this system has one core, or no taskset.'
  const { api, others } = cores
  const balancer = `The balancer ran on core ${api} alone, the endpoints, the generator and the lab on core ${others}.`
  if (!hasProcesses) return balancer
  return `${balancer} In front of API processes HAProxy was not pinned; they took turns on the cores ${api},${others}.`
}

/**
 * The target of a cell: endpoints with a balancer in front of them, or API processes.
 * @param {any} cell @param {Place} place @param {BalancePlan} plan @returns {Promise<Target>}
 */
export async function openStrategy({ part, strategy }, place, plan) {
  const own = { ...place, cores: place.cores ?? coresFor(plan)?.api ?? null }
  if (part === 'processes' && strategy === 'direct') return openLocal(own)
  /** @type {Service[]} */
  const services = []
  const stop = async () => {
    for (const service of services.toReversed()) await service.stop()
  }
  try {
    const opening = { plan, strategy, place: own, services }
    const front = part === 'processes' ? await openProcesses(opening) : await openEndpoints(part, opening)
    // The service that started last receives the load.
    const pid = Number(services.at(-1)?.pid)
    const died = Promise.race(services.map((service) => service.died))
    died.catch(() => {})
    const none = { adminUrl: null, metricsUrl: null, settings: {}, countsRows: false }
    return { ...none, ...front, kind: 'local', pid, cores: coresOf(pid), died, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** @param {Exclude<MeasuredPart, 'processes'>} part @param {Opening} opening */
async function openEndpoints(part, opening) {
  const { mix, slots, fails, endpoints: count, slow } = opening.plan
  const uneven = unevenEndpoints(count, slow)
  const kinds = { overhead: INSTANT, strategies: uneven, crowded: uneven, failing: evenEndpoints(count) }
  const endpoints = kinds[part]
  const names = endpoints.map(({ name }) => name)
  const [adminPort, ...ports] = await start('the endpoints', opening, null, names.length + 1, (ports) => {
    return [process.execPath, ENDPOINTS, JSON.stringify({ endpoints, ports, slots })]
  })
  const admin = `http://127.0.0.1:${adminPort}`
  const window = part === 'overhead' ? { from_s: 0, to_s: 0 } : fails[part]
  const servers = names.map((name, i) => ({ name, port: ports[i] }))
  const port = await openFront(servers, opening)
  let { seed } = mix
  return {
    url: `http://127.0.0.1:${port}/`,
    /** @type {Target['disturb']} */
    disturb: async (_, at) => {
      // The same draws for every strategy of a block, new ones for each block.
      seed = mix.seed + at.block
      return async () => {}
    },
    watch: async () => {
      await post(`${admin}/begin`, { ...window, seed })
      const counts = async () => ({ .../** @type {any} */ (await post(admin)), names, ...window })
      return { sample: async () => {}, end: () => counts }
    },
  }
}

/**
 * The port that clients connect to: that of the endpoint itself, HAProxy or our proxy.
 * @param {Server[]} servers @param {Opening} opening
 */
async function openFront(servers, opening) {
  const { strategy, plan, place } = opening
  if (strategy === 'direct') return servers[0].port
  if (strategy in HAPROXY) return startHaproxy(/** @type {keyof typeof HAPROXY} */ (strategy), servers, true, opening)
  const [port] = await start(`the ${strategy} proxy`, opening, place.cores, 1, ([port]) => {
    const options = { strategy, endpoints: servers, parameters: plan.parameters, port }
    return [process.execPath, PROXY, JSON.stringify(options)]
  })
  return port
}

/** Several processes of the API behind HAProxy, each on a core of its own as long as there are enough. @param {Opening} opening */
async function openProcesses(opening) {
  const { strategy, place, services } = opening
  const cores = expandCores(place.allCores ?? '')
  const count = Number(strategy)
  /** @type {Target[]} */
  const apis = []
  for (let i = 0; i < count; i++) {
    apis.push(await openLocal({ ...place, cores: cores.length > 0 ? String(cores[i % cores.length]) : null }))
    services.push(apis[i])
  }
  const servers = apis.map(({ url }, i) => ({ name: `api-${i + 1}`, port: Number(new URL(url).port) }))
  const port = await startHaproxy('haproxy-leastconn', servers, false, opening)
  const settings = { ...apis[0].settings, PROCESSES: count, API_CORES: apis.map((api) => api.cores).join(' ') }
  return { url: `http://127.0.0.1:${port}/user`, countsRows: true, settings }
}

/** @param {keyof typeof HAPROXY} strategy @param {Server[]} servers @param {boolean} watched @param {Opening} opening */
async function startHaproxy(strategy, servers, watched, opening) {
  const file = path.join(path.dirname(opening.place.logFile), 'haproxy.cfg')
  // API processes use all cores, so HAProxy is not pinned.
  const cores = watched ? opening.place.cores : null
  const [port] = await start('HAProxy', opening, cores, 1, ([port]) => {
    writeFileSync(file, haproxyConfig({ ...HAPROXY[strategy], port, servers, watched }))
    return [String(opening.plan.haproxy), '-db', '-f', file]
  })
  return port
}

/**
 * Starts a program, which is ready when it listens on all of its ports.
 * @param {string} name @param {Opening} opening @param {string | null} cores @param {number} count of ports
 * @param {(ports: number[]) => string[]} commandOn
 */
async function start(name, { place: { env, logFile }, services }, cores, count, commandOn) {
  const { service, ports } = await onFreePorts(count, (ports) => {
    const isReady = async () => (await Promise.all(ports.map(isListening))).every(Boolean)
    return startService(name, commandOn(ports), { cores, env, logFile, isReady, stopGrace_ms: STOP_GRACE_MS })
  })
  services.push(service)
  return ports
}

/** @param {string} url @param {object} [body] @returns {Promise<unknown>} */
async function post(url, body) {
  const answer = await fetch(url, { method: 'POST', body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(`expected 200 from ${url}, got ${answer.status}`)
  return answer.json()
}
