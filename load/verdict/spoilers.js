import { workersOf } from '../generators/drivers/locust/workers.js'
import { totalOf } from '../generators/drivers/recorder.js'
import { OPENED_AT_ONCE } from '../generators/drivers/sender.js'
import { gatherFacts } from '../probes/facts.js'
import { isLoopbackName } from '../system/addresses.js'
import { startsHere } from '../system/ssh/plan.js'
import { measureCeiling } from './preflight/ceiling.js'
import { named, preflight, preflightOfHost, sentenceOf } from './preflight/preflight.js'

/**
 * @import { Look } from '../../sql/database.js'
 * @import { OpenOrigin } from '../generators/hosts/prepare.js'
 * @import { pinToCores } from '../system/processes.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Elsewhere } from '../system/ssh/plan.js'
 * @import { Target } from '../targets/index.js'
 * @import { Part } from './preflight/preflight.js'
 * @import { Plan } from '../report/record.js'
 */

/**
 * Lists what would spoil the run. The generator's own ceiling is measured only if the result depends on it.
 * @param {{ load: { connections: number, connections_needed?: number, rate_rps: number | null } }} step the run's first step
 * @param {Plan & Elsewhere} plan @param {Site} site @param {Pick<Target, 'settings'>} target
 * @param {{ signal: AbortSignal, progress: { note: (text: string) => void } }} io
 * @returns {Promise<string[]>} warnings
 * @typedef {{ database: Pick<Look, 'query'> | null, cores: { api: string, others: string } | null, hosts: Record<string, Host>, origin: OpenOrigin }} Site
 *   hosts: other machines that run the API
 */
export async function spoilers({ load }, plan, { database, cores, hosts, origin }, { settings }, { signal, progress }) {
  const apiHosts = Object.values(hosts)
  const rates = plan.rates_rps ?? [load.rate_rps].filter((rate) => rate !== null)
  const [pool_max, backlog] = [settings.POOL_MAX, settings.LISTEN_BACKLOG].map((text) => (text ? Number(text) : null))
  const planned = {
    // As many as the rate needs, which may be more than this machine's limits have left of them.
    connections: Math.max(load.connections, load.connections_needed ?? 0, ...plan.connections),
    pool_max,
    rate_rps: rates.length > 0 ? Math.max(...rates) : null,
    backlog,
    fresh_connections: plan.fresh_connections,
    ...(['paced', 'workers'].includes(plan.driver) && !plan.fresh_connections && { at_once: OPENED_AT_ONCE }),
    timeout_s: plan.timeout_s,
    addresses: plan.local_addresses?.length,
    loopback: apiHosts.length === 0 && (plan.url === null || isLoopbackName(new URL(plan.url).hostname)),
  }
  const { hosts: loadHosts } = origin
  // vegeta splits the load evenly between hosts, locust evenly between workers.
  const parts = plan.driver === 'locust' ? workersOf(loadHosts, planned.connections) : loadHosts.map(() => 1)
  const all = totalOf(parts, Number)
  const measuresCeiling = plan.searches && loadHosts.length === 0
  const facts = await factsHere({ database, cores, measuresCeiling, signal, note: progress.note })
  const there = await Promise.all(apiHosts.map(async (host) => ({ ...(await host.ask('facts')), ceiling: null })))
  // Load hosts replace this machine.
  const sending = loadHosts.length > 0 ? [] : ['load', 'machine']
  const here = ['lab', ...sending, ...(plan.url === null && startsHere(plan) ? ['api'] : [])]
  const findings = [
    ...loadHosts.flatMap((one, i) => preflightOfHost(facts, planned, { ...one, share_ratio: parts[i] / all })),
    ...preflight(facts, planned, /** @type {Part[]} */ (here)),
    ...apiHosts.flatMap(({ name }, i) => named(preflight(there[i], planned, ['api', 'machine']), name)),
  ]
  return findings.filter(({ level }) => level === 'bad' || level === 'warn').map(sentenceOf)
}

/**
 * Inspects the machine (0.25 s) and measures the generator's ceiling (3 to 4 s) before a run. Nothing else of ours should be busy
 * meanwhile.
 * @param {{ database: Pick<Look, 'query'> | null, cores: ReturnType<typeof pinToCores>, measuresCeiling: boolean, signal: AbortSignal,
 *   note: (text: string) => void }} run note: reports progress
 * @throws the signal's reason if it is aborted
 */
export async function factsHere({ database, cores, measuresCeiling, signal, note }) {
  note('looking at this machine …')
  const facts = await gatherFacts({ cores, database, signal })
  if (measuresCeiling) note('measuring what the generator can do …')
  return { ...facts, ceiling: measuresCeiling ? await measureCeiling({ cores: cores?.api ?? null, signal }) : null }
}
