import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { coresOf, expandCores, planCores } from '../../../load/system/machine.js'
import { pinSelf } from '../../../load/system/processes.js'
import { startService } from '../../../load/system/service.js'
import { openLocal } from '../../../load/targets/index.js'
import { isListening, onFreePorts } from '../../knobs/on-free-ports.js'
import { oncePerPlan } from '../../stats/design.js'
import { evenEndpoints, instantEndpoint, unevenEndpoints } from './endpoints.js'
import { haproxyConfig } from './haproxy.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { BalanceCell, BalancePlan } from './steps.js'
 */

const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const ENDPOINTS = fileURLToPath(new URL('endpoint-server.js', import.meta.url))
const STOP_GRACE_MS = 500

/** @typedef {Awaited<ReturnType<typeof startService>>} Service */

/**
 * The cores of a run: the balancer or the API has one, the lab and all others have the rest. A plan without the API needs no
 * bench that would move the lab aside. To be asked first before the bench opens: a lab that was moved sees fewer cores.
 *
 * @type {(plan: BalancePlan) => { api: string, others: string } | null} null: nothing is pinned
 */
export const coresFor = oncePerPlan((/** @type {BalancePlan} */ { url }) => {
  const cores = planCores()
  return !url || (cores && pinSelf(cores.others)) ? cores : null
})

/**
 * Which core had what.
 *
 * @param {{ api: string, others: string } | null} cores null: nothing was pinned
 * @param {boolean} hasProcesses whether the API was loaded, too
 */
export function pinningText(cores, hasProcesses) {
  if (!cores) return 'Nothing was pinned: this system has one core, or no taskset.'
  const { api, others } = cores
  const balancer = `The balancer ran on core ${api} alone, the endpoints, the generator and the lab on core ${others}.`
  if (!hasProcesses) return balancer
  return `${balancer} In front of API processes HAProxy was not pinned; they took turns on the cores ${api},${others}.`
}

/**
 * What a cell is: endpoints with a balancer in front of them, or API processes.
 *
 * @param {BalanceCell} cell
 * @param {Place} place
 * @param {BalancePlan} plan
 * @returns {Promise<Target>}
 */
export function openStrategy(cell, place, plan) {
  const own = { ...place, cores: place.cores ?? coresFor(plan)?.api ?? null }
  return cell.part === 'processes' ? openProcesses(plan, cell.strategy, own) : openEndpoints(plan, cell, own)
}

/** @param {BalancePlan} plan @param {BalanceCell} cell @param {Place} place @returns {Promise<Target>} */
async function openEndpoints(plan, { part, strategy }, place) {
  const endpoints = endpointsOf(part, plan)
  const names = endpoints.map(({ name }) => name)
  const { slots, mix, fails } = plan
  const { service: servers, ports: all } = await onFreePorts(endpoints.length + 1, ([adminPort, ...ports]) => {
    const options = JSON.stringify({ endpoints, ports, adminPort, slots })
    return start('the endpoints', [process.execPath, ENDPOINTS, options], place, null, [...ports, adminPort])
  })
  const [adminPort, ...ports] = all
  const named = names.map((name, i) => ({ name, port: ports[i] }))
  try {
    const front = await openFront(plan, strategy, named, place)
    const services = [...(front.service ? [front.service] : []), servers]
    const admin = `http://127.0.0.1:${adminPort}`
    const window = part === 'overhead' || part === 'processes' ? { from_s: 0, to_s: 0 } : fails[part]
    return {
      ...serviceTarget(services[0], front.port, '/'),
      died: firstToDie(services),
      disturb: async (_, at) => {
        // The same draws for every strategy of a block, others in every block.
        await post(`${admin}/reset`, JSON.stringify({ seed: mix.seed + at.block }))
        await front.reset()
        return async () => {}
      },
      watch: async () => {
        await post(`${admin}/begin`, JSON.stringify(window))
        const counts = async () => {
          const counted = /** @type {any} */ (await (await fetch(`${admin}/counts`)).json())
          return { ...counted, names, ...window }
        }
        return { sample: async () => {}, end: () => counts }
      },
      stop: async () => {
        for (const service of services) await service.stop()
      },
    }
  } catch (error) {
    await servers.stop()
    throw error
  }
}

/** @param {string} part @param {BalancePlan} plan */
function endpointsOf(part, { endpoints, slow }) {
  if (part === 'overhead') return instantEndpoint()
  return part === 'failing' ? evenEndpoints(endpoints) : unevenEndpoints(endpoints, slow)
}

/**
 * @param {BalancePlan} plan
 * @param {string} strategy
 * @param {{ name: string, port: number }[]} endpoints
 * @param {Place} place
 * @returns {Promise<{ service: Service | null, port: number, reset: () => Promise<void> }>} service null: nothing in between
 */
async function openFront(plan, strategy, endpoints, place) {
  if (strategy === 'direct') return { service: null, port: endpoints[0].port, reset: async () => {} }
  if (strategy.startsWith('haproxy')) {
    const retries = strategy === 'haproxy-retry'
    const balance = strategy === 'haproxy-random' ? 'random(2)' : 'leastconn'
    const config = { balance, servers: endpoints, health: '/health', retries }
    const { service, port } = await startHaproxy(plan, config, place, place.cores)
    return { service, port, reset: async () => {} }
  }
  const { service, ports } = await onFreePorts(2, ([port, adminPort]) => {
    const options = JSON.stringify({ strategy, endpoints, parameters: plan.parameters, port, adminPort })
    return start(`the ${strategy} proxy`, [process.execPath, PROXY, options], place, place.cores, [port, adminPort])
  })
  const [port, adminPort] = ports
  return { service, port, reset: () => post(`http://127.0.0.1:${adminPort}/reset`) }
}

/**
 * The API in so many processes, each on a core of its own as long as there are cores, behind HAProxy.
 *
 * @param {BalancePlan} plan
 * @param {string} strategy
 * @param {Place} place
 * @returns {Promise<Target>}
 */
async function openProcesses(plan, strategy, place) {
  if (strategy === 'direct') return openLocal(place)
  const cores = place.allCores ? expandCores(place.allCores) : []
  const count = Number(strategy)
  /** @type {{ stop: () => Promise<void> }[]} */
  const started = []
  const stop = async () => {
    for (const { stop } of started.toReversed()) await stop()
  }
  try {
    const apis = []
    for (let i = 0; i < count; i++) {
      const core = cores[i % cores.length]
      const api = await openLocal({ ...place, cores: core === undefined ? null : String(core) })
      started.push(api)
      apis.push(api)
    }
    const servers = apis.map(({ url }, i) => ({ name: `api-${i + 1}`, port: Number(new URL(url).port) }))
    const config = { balance: 'leastconn', servers, health: null, retries: false }
    const { service, port } = await startHaproxy(plan, config, place, null)
    started.push(service)
    const died = firstToDie([service, ...apis])
    const settings = { ...apis[0].settings, PROCESSES: count, API_CORES: apis.map((api) => api.cores).join(' ') }
    return { ...serviceTarget(service, port, '/user'), countsRows: true, settings, died, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/**
 * @param {BalancePlan} plan
 * @param {Omit<Parameters<typeof haproxyConfig>[0], 'port'>} config
 * @param {Place} place
 * @param {string | null} cores
 */
async function startHaproxy({ haproxy }, config, place, cores) {
  const file = path.join(path.dirname(place.logFile), 'haproxy.cfg')
  const { service, ports } = await onFreePorts(1, ([port]) => {
    writeFileSync(file, haproxyConfig({ ...config, port }))
    return start('HAProxy', [String(haproxy), '-db', '-f', file], place, cores, [port])
  })
  return { service, port: ports[0] }
}

/** @param {{ died: Promise<never> }[]} services */
function firstToDie(services) {
  const died = Promise.race(services.map((service) => service.died))
  died.catch(() => {})
  return died
}

/** @param {Service} service @param {number} port @param {string} pathname @returns {Target} */
function serviceTarget(service, port, pathname) {
  return {
    kind: 'local',
    countsRows: false,
    url: `http://127.0.0.1:${port}${pathname}`,
    adminUrl: null,
    metricsUrl: null,
    cores: coresOf(service.pid),
    settings: {},
    ...service,
  }
}

/**
 * @param {string} name
 * @param {string[]} command
 * @param {Place} place
 * @param {string | null} cores
 * @param {number[]} ports on which it listens when it is ready
 */
function start(name, command, { env, logFile }, cores, ports) {
  const isReady = async () => (await Promise.all(ports.map(isListening))).every(Boolean)
  return startService(name, command, { cores, env, logFile, isReady, stopGrace_ms: STOP_GRACE_MS })
}

/** @param {string} url @param {string} [body] */
async function post(url, body) {
  const answer = await fetch(url, { method: 'POST', body })
  if (!answer.ok) throw new Error(`expected 200 from ${url}, got ${answer.status}`)
  await answer.text()
}
