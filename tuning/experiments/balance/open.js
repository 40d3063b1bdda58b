import { fileURLToPath } from 'node:url'
import { NOT_PINNED } from '../../../load/run/site.js'
import { startListening } from '../../../load/system/listening.js'
import { coresOf, expandCores, planCores } from '../../../load/system/machine.js'
import { pinSelf } from '../../../load/system/processes.js'
import { openGroup, portsOf } from '../../knobs/group.js'
import { startHaproxy } from '../../knobs/haproxy.js'
import { oncePer } from '../../stats/design.js'
import { evenEndpoints, INSTANT, unevenEndpoints } from './endpoints.js'
import { HAPROXY } from './steps.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { BalancePlan } from './balance.js'
 * @import { Service } from '../../knobs/group.js'
 * @import { MeasuredPart } from './steps.js'
 * @typedef {{ name: string, port: number }} Server
 * @typedef {{ plan: BalancePlan, strategy: string, place: Place, services: Service[] }} Opening services: started so far
 */

const PROXY = fileURLToPath(new URL('proxy.js', import.meta.url))
const ENDPOINTS = fileURLToPath(new URL('endpoint-server.js', import.meta.url))

/** One core for the balancer, the rest for the lab and everything else: found before the lab moves, which then sees fewer. */
const coresFor = oncePer((/** @type {BalancePlan} */ _) => planCores())

/** The cores of a run if the lab has moved to its own. @param {BalancePlan} plan */
export function pinnedCores(plan) {
  const cores = coresFor(plan)
  return cores && expandCores(coresOf('self') ?? '').join() === cores.others ? cores : null
}

/** Describes what ran on which core. @param {ReturnType<typeof pinnedCores>} cores */
export function pinningText(cores) {
  if (!cores) return NOT_PINNED
  return `The balancer ran on core ${cores.api} alone, the endpoints, the generator and the lab on core ${cores.others}.`
}

/**
 * The target of a cell: endpoints with a balancer in front of them.
 * @param {any} cell @param {Place} place @param {BalancePlan} plan @returns {Promise<Target>}
 */
export async function openStrategy({ part, strategy }, place, plan) {
  const planned = coresFor(plan)
  // Without the API, nothing else moves the lab.
  if (planned) pinSelf(planned.others)
  const own = { ...place, cores: pinnedCores(plan)?.api ?? null }
  return openGroup(async (services) => {
    const front = await openEndpoints(part, { plan, strategy, place: own, services })
    return { ...front, settings: {}, countsRows: false }
  })
}

/** @param {MeasuredPart} part @param {Opening} opening */
async function openEndpoints(part, opening) {
  const { mix, slots, fails, endpoints: count, slow } = opening.plan
  const uneven = unevenEndpoints(count, slow)
  const kinds = { overhead: INSTANT, strategies: uneven, crowded: uneven, failing: evenEndpoints(count) }
  const endpoints = kinds[part]
  const names = endpoints.map(({ name }) => name)
  const where = { ...opening.place, cores: null }
  const started = startListening('the endpoints', where, names.length + 1, (ports) => {
    return [process.execPath, ENDPOINTS, JSON.stringify({ endpoints, ports, slots })]
  })
  const [adminPort, ...ports] = await portsOf(started, opening.services)
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
  const { strategy, plan, place, services } = opening
  if (strategy === 'direct') return servers[0].port
  const backend = HAPROXY[/** @type {keyof typeof HAPROXY} */ (strategy)]
  const started = backend
    ? startHaproxy(String(plan.haproxy), place, { ...backend, servers, watched: true })
    : startListening(`the ${strategy} proxy`, place, 1, ([port]) => {
        const options = { strategy, endpoints: servers, parameters: plan.parameters, port }
        return [process.execPath, PROXY, JSON.stringify(options)]
      })
  const [port] = await portsOf(started, services)
  return port
}

/** @param {string} url @param {object} [body] @returns {Promise<unknown>} */
async function post(url, body) {
  const answer = await fetch(url, { method: 'POST', body: body && JSON.stringify(body) })
  if (!answer.ok) throw new Error(`expected 200 from ${url}, got ${answer.status}`)
  return answer.json()
}
