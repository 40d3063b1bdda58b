import { putDistance, ROUND_TRIP, shortestRoundTrip } from '../system/between.js'
import { openLocal } from './local.js'
import { openSsh } from './ssh.js'

/**
 * @import { startGenerator } from '../generators/drive.js'
 * @import { Probe } from '../probes/index.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Beside, MixPlan, StepLoad } from '../report/record.js'
 */

/**
 * The service under test.
 * @typedef {{ kind: 'local' | 'url' | 'started' | 'ssh', url: string, shownUrl?: string, adminUrl: string | null, metricsUrl: string | null,
 *   died: Promise<never>, stop: () => Promise<void> } & Process & Special} Target url: of the loaded endpoint; shownUrl: url without
 *   secrets; adminUrl: origin of /metrics, /healthz and /readyz; metricsUrl: page in Prometheus' text format; died: rejects when the
 *   service ends by itself
 * @typedef {{ pid: number | null, cores: string | null, softNofile?: number | null, words?: string[], host?: Host,
 *   settings: Record<string, string | number | null> }} Process cores: those that it may run on; words: its command line; host: runs
 *   it, if not this machine; settings: read back from it
 * @typedef {{ processes?: { pid: number, name: string }[], countsRows: boolean, writesBeside?: boolean, disturb?: Disturb, startLoad?: typeof startGenerator,
 *   watch?: () => Promise<Probe>, fill?: (signal: AbortSignal) => Promise<void> }} Special processes: of a service that is not ours, each with its
 *   descendants; countsRows: its rows are in the run's database; writesBeside: the disturbance also stores rows, so the trial's own cannot
 *   be counted; startLoad: replaces the lab's generators; watch: starts its own probe after the warm-up; fill: fills the emptied table
 * @typedef {(generator: { pid: number }, at: any, trial: DisturbedTrial, signal: AbortSignal) => Promise<Calm>} Disturb begins a disturbance
 *   for one trial; at: the trial's place in the design; trial: its number and its load
 * @typedef {Pick<StepLoad, 'driver' | 'rate_rps' | 'connections'> & { trial: number, mix: MixPlan, timeout_s: number }} DisturbedTrial
 * @typedef {() => Promise<Beside | void>} Calm ends a disturbance, and returns what it did
 */

/**
 * The target as its load needs it. An unknown server may dedicate a process or a thread to each open connection, and idle connections
 * would then block it. Across a network, the ports of closed connections stay in use for a minute, so that opening ahead more than
 * are needed would use them up within a few trials. @param {Pick<Target, 'kind' | 'url'>} target
 */
export function addressOf({ kind, url }) {
  return { url, on_demand: kind !== 'local' }
}

export { NODE_FLAGS, openLocal } from './local.js'
export { openStarted } from './started.js'
export { openUrl } from './url.js'

/**
 * Starts the API on the given host, by default this one, and the proxy that delays its path to the database.
 * @param {Place} place @returns {Promise<Target>} its settings include the round trip through the proxy
 * @typedef {Parameters<typeof openLocal>[0] & { host?: Host, added_rtt_ms?: number }} Place added_rtt_ms: added to each round trip
 */
export async function openApi({ added_rtt_ms, ...place }) {
  if (!added_rtt_ms) return place.host ? openSsh(place) : openLocal(place)
  const { databaseUrl, end } = await putDistance(place, added_rtt_ms)
  try {
    const round_trip_ms = await shortestRoundTrip(databaseUrl)
    const target = await openLocal({ ...place, databaseUrl })
    const settings = { ...target.settings, [ROUND_TRIP]: Number(round_trip_ms.toFixed(2)) }
    return { ...target, settings, stop: () => target.stop().finally(end) }
  } catch (error) {
    await end()
    throw error
  }
}
