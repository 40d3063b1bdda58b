import { workersOf } from '../generators/drivers/locust/workers.js'
import { OPENED_AT_ONCE } from '../generators/drivers/paced.js'
import { gatherFacts } from '../probes/facts.js'
import { measureCeiling } from './preflight/ceiling.js'
import { preflight, sentenceOf } from './preflight/preflight.js'

/**
 * @import { Look } from '../../sql/database.js'
 * @import { OpenOrigin } from '../generators/hosts/prepare.js'
 * @import { pinToCores } from '../system/processes.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Target } from '../targets/index.js'
 * @import { OfLoad, Planned } from './preflight/finding.js'
 * @import { Plan } from '../report/record.js'
 */

/** What hangs on the machine on which the API runs. */
const OF_THE_API = ['api-nofile', 'backlog', 'cores']
/** And what on any. */
const OF_EACH = ['cpu-quota', 'steal', 'other-processes', 'pressure']

/**
 * What on this machine would spoil the run. What the generator can do is measured where the answer hangs on it.
 *
 * @param {{ load: { connections: number, rate_rps: number | null } }} step the first
 * @param {Plan} plan @param {Site} bench @param {Pick<Target, 'settings'>} target
 * @param {{ signal: AbortSignal, progress: { note: (text: string) => void } }} io
 * @returns {Promise<string[]>} warnings
 *
 * @typedef {{ database: Look | null, cores: { api: string, others: string } | null, host: Host | null, origin: OpenOrigin }} Site
 *   host: on which the API runs; null: this one, or one that we do not know
 */
export async function spoilers({ load }, plan, { database, cores, host, origin }, { settings }, { signal, progress }) {
  const rates = plan.rates_rps ?? [load.rate_rps].filter((rate) => rate !== null)
  const planned = {
    connections: Math.max(load.connections, ...plan.connections),
    pool_max: numberOf(settings.POOL_MAX),
    processes: 1,
    rate_rps: rates.length > 0 ? Math.max(...rates) : null,
    backlog: numberOf(settings.LISTEN_BACKLOG),
    fresh_connections: plan.fresh_connections,
    ...(plan.driver === 'paced' && !plan.fresh_connections && { at_once: OPENED_AT_ONCE }),
    timeout_s: plan.timeout_s,
    addresses: plan.local_addresses?.length,
    loopback: host === null && (plan.url === null || /^(localhost|127\.|\[::1\])/.test(new URL(plan.url).hostname)),
  }
  const { note } = progress
  const hosts = withShares(origin.hosts, plan.driver, planned.connections)
  const measuresCeiling = plan.searches && hosts.length === 0
  const found = await runPreflight({ plan: planned, hosts, database, cores, measuresCeiling, signal, note })
  // Where a service runs that was there before us is not for us to say.
  const foreign = host ? OF_THE_API : plan.url === null ? [] : ['cores']
  const here = found.findings.filter(({ check }) => !foreign.includes(check))
  const there = host ? preflight({ ...(await host.ask('facts')), ceiling: null }, planned) : []
  const ofHost = there
    .filter(({ check }) => OF_THE_API.includes(check) || OF_EACH.includes(check))
    .map((finding) => ({ ...finding, what: `${finding.what}, ${host?.name}` }))
  return [...here, ...ofHost].filter(({ level }) => level === 'bad' || level === 'warn').map(sentenceOf)
}

/**
 * Looks at the machine, a quarter of a second, and measures what the generator can do, three to four, before a run. Nothing else
 * of ours should be busy meanwhile.
 *
 * @param {{ plan: Planned, hosts?: OfLoad[], database: Look | null, cores: ReturnType<typeof pinToCores>,
 *   measuresCeiling: boolean, signal: AbortSignal, note: (text: string) => void }} run hosts: that the load comes from, instead of
 *   this machine; measuresCeiling: of the generator; note: what is being done
 * @throws the signal's reason, when it was aborted
 */
export async function runPreflight({ plan, hosts, database, cores, measuresCeiling, signal, note }) {
  note('looking at this machine …')
  const facts = await gatherFacts({ cores, database, signal })
  if (measuresCeiling) note('measuring what the generator can do …')
  const ceiling = measuresCeiling ? await measureCeiling({ cores: cores?.api ?? null, signal }) : null
  const findings = preflight({ ...facts, ceiling }, plan, hosts)
  return { findings, ceiling: ceiling && !('failed' in ceiling) ? ceiling : null }
}

/** @param {string | number | null} [setting] @returns {number | null} null: unknown, as with other people's services */
function numberOf(setting = null) {
  return setting === null ? null : Number(setting)
}

/**
 * vegeta shares a load evenly between hosts, locust between workers, of which a host with more cores has more. Pure.
 *
 * @param {OpenOrigin['hosts']} hosts @param {string} driver @param {number} connections
 */
function withShares(hosts, driver, connections) {
  const parts = driver === 'locust' ? workersOf(hosts, connections) : hosts.map(() => 1)
  const all = parts.reduce((sum, part) => sum + part, 0)
  return hosts.map((host, i) => ({ ...host, share_ratio: parts[i] / all }))
}
