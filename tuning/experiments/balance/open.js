import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { coresOf, expandCores } from '../../../load/system/machine.js'
import { startService } from '../../../load/system/service.js'
import { openLocal } from '../../../load/targets/index.js'
import { isListening, onFreePorts } from '../../knobs/on-free-ports.js'
import { evenEndpoints, instantEndpoint, unevenEndpoints } from './endpoints.js'
import { haproxyConfig } from './haproxy.js'
import { blockOf, partOf, strategyOf } from './steps.js'

/** @import { MeasuredPart } from './steps.js' */

const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const ENDPOINTS = fileURLToPath(new URL('endpoint-server.js', import.meta.url))
const STOP_GRACE_MS = 500

/**
 * @typedef {import('./steps.js').BalancePlan} BalancePlan
 * @typedef {import('../../../load/run/bench.js').Place} Place
 * @typedef {import('../../../load/targets/index.js').Target} Target
 * @typedef {Awaited<ReturnType<typeof startService>>} Service
 */

/**
 * What a cell is: endpoints with a balancer in front of them, or API processes.
 *
 * @param {BalancePlan} plan
 * @param {string} cell
 * @param {Place} place
 * @returns {Promise<Target>}
 */
export function openStrategy(plan, cell, place) {
  return partOf(cell) === 'processes' ? openProcesses(plan, cell, place) : openEndpoints(plan, cell, place)
}

/** @param {BalancePlan} plan @param {string} cell @param {Place} place @returns {Promise<Target>} */
async function openEndpoints(plan, cell, place) {
  const part = /** @type {Exclude<MeasuredPart, 'processes'>} */ (partOf(cell))
  const endpoints = endpointsOf(part, plan)
  const { slots, mix } = plan
  const { service: servers, ports: all } = await onFreePorts(endpoints.length + 1, ([adminPort, ...ports]) => {
    const options = JSON.stringify({ endpoints, ports, adminPort, slots })
    return start('the endpoints', [process.execPath, ENDPOINTS, options], place, null, [...ports, adminPort])
  })
  const [adminPort, ...ports] = all
  const named = endpoints.map(({ name }, i) => ({ name, port: ports[i] }))
  try {
    const front = await openFront(plan, strategyOf(cell), named, place)
    const admin = `http://127.0.0.1:${adminPort}`
    const window = part === 'overhead' ? { from_s: 0, to_s: 0 } : plan.fails[part]
    return {
      ...serviceTarget(front.service ?? servers, front.port, '/'),
      died: firstToDie(front.service ? [front.service, servers] : [servers]),
      disturb: async (_, experiment) => {
        // The same draws for every strategy of a block, others in every block.
        await post(`${admin}/reset`, JSON.stringify({ seed: mix.seed + blockOf({ experiment }) }))
        await front.reset()
        return async () => {}
      },
      watch: async () => {
        await post(`${admin}/begin`, JSON.stringify(window))
        const names = endpoints.map(({ name }) => name)
        const counts = async () => {
          const counted = /** @type {any} */ (await (await fetch(`${admin}/counts`)).json())
          return { ...counted, names, ...window }
        }
        return { sample: async () => {}, end: () => counts }
      },
      stop: async () => {
        await front.service?.stop()
        await servers.stop()
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
 * @param {string} cell
 * @param {Place} place
 * @returns {Promise<Target>}
 */
async function openProcesses(plan, cell, place) {
  const strategy = strategyOf(cell)
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
