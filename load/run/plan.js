import { SETTINGS } from '../../api/settings.js'
import { UsageError } from '../command/errors.js'
import { durationFlag, numberFlag, oneOf, ratioOfPercent, seedFlag, wholeNumbers } from '../command/flags.js'
import { urlFlag } from '../command/references.js'
import { mostConnections } from '../generators/connections.js'
import { DRIVERS } from '../generators/drivers/index.js'
import { HOSTS_FLAGS, originOf } from '../generators/hosts/flags.js'
import { createUserMix } from '../generators/mix.js'
import { MIX_FLAGS, mixOf } from '../generators/mix-flags.js'
import { familyOf, nameOf } from '../probes/process.js'
import { boundsOf, highestP99Of, SLO_EXPECTED, UNBOUNDED_MS } from '../report/slo.js'
import { sshPlanOf } from '../system/ssh/plan.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { Driver } from '../generators/drivers/index.js'
 * @import { Bounds, Entry, Plan } from '../report/record.js'
 */

/** connections: in a closed loop. */
const DEFAULTS = { connections: 256, timeout_ms: 10_000, slo_p99_ms: 100, slo_success_ratio: 1 }
/** Times of a trial that was asked for, and of one of the many of a search. */
const LADDER = { warmup_ms: 1000, duration_ms: 10_000 }
const SEARCH = { warmup_ms: 500, duration_ms: 2000 }
/** Minimum length of a trial, as a multiple of the SLO: until the first answers are due, a backlog says nothing. */
const SLO_TIMES = 3
/** Some drivers, such as vegeta, return their results at the end, and these are read into memory. */
const MAX_REQUESTS = 100_000_000

/** Flags for the load, its target and the SLO. @satisfies {Record<string, Flag>} */
export const PLAN_FLAGS = {
  rates: {
    value: 'A,B,C',
    about: 'offered rates in requests/s (default: the capacity is searched for)',
    ...wholeNumbers(1, 1_000_000),
  },
  driver: {
    value: 'NAME',
    about: 'paced (open loop, default), vegeta (open loop), autocannon, client, wrk or locust (closed loop)',
    ...oneOf(Object.keys(DRIVERS)),
  },
  arrivals: {
    value: 'HOW',
    about: 'spacing of requests in an open loop: even (default), or poisson (random, as independent users arrive)',
    ...oneOf(['even', 'poisson']),
  },
  connections: {
    value: 'N',
    about: `exactly N connections (default: as many as the rate needs within the SLO; closed loop: ${DEFAULTS.connections}, or a list)`,
    ...wholeNumbers(1, 60_000),
  },
  duration: durationFlag(
    `of each trial (default ${LADDER.duration_ms / 1000}s, ${SEARCH.duration_ms / 1000}s in a search, or ${SLO_TIMES} x the SLO's p99 if that is longer)`,
  ),
  warmup: durationFlag(
    `before each trial (default ${LADDER.warmup_ms / 1000}s, ${SEARCH.warmup_ms / 1000}s in a search)`,
  ),
  timeout: durationFlag(`longest wait for an answer (default ${DEFAULTS.timeout_ms / 1000}s)`),
  'slo-p99': durationFlag(`a trial passes up to this p99 (default ${DEFAULTS.slo_p99_ms}ms)`),
  'slo-success': {
    value: 'PERCENT',
    about: `and with at least this percentage of successes (default ${100 * DEFAULTS.slo_success_ratio})`,
    parse: ratioOfPercent,
    expected: 'a percentage above 0, at most 100, such as 99.9',
  },
  slo: {
    value: 'CONDITIONS',
    about:
      'instead of both, all that a trial has to meet: p50<5ms,p99<50ms,success>=99.9% (also p90, p95, p999, mean, max; successes: 100 % unless stated); several --slo: the capacity by each, the first is the answer',
    parse: boundsOf,
    expected: SLO_EXPECTED,
    multiple: true,
  },
  sustained: durationFlag(
    'a search: the last trial at the lower edge lasts this long, with a CHECKPOINT of Postgres in it',
  ),
  'no-confirm': { value: '', about: 'do not relax the limit that was found to see whether the capacity moves' },
  'no-proof': {
    value: '',
    about: 'do not slow each suspect in turn to prove which one is the limit (saves one to two minutes)',
  },
  dose: {
    ...numberFlag(
      'how much slower a suspect gets (default 10); 0 tests the proof: every interval should contain 0',
      0,
      30,
    ),
    value: 'PERCENT',
  },
  pid: {
    value: 'N',
    about:
      'a process of the service behind --url, or its Postgres, on this machine, for the proof (repeatable; its children belong to it)',
    parse: runningProcess,
    expected: 'the id of a running process that did not start this one',
    multiple: true,
  },
  'no-keep-alive': { value: '', about: 'a connection for each request' },
  unbounded: { value: '', about: 'vegeta with its own defaults: no bound on workers and connections' },
  url: urlFlag('url', 'load a service that runs already; its database is not touched'),
  'metrics-url': urlFlag('metrics-url', "what that service tells of itself, in Prometheus' text format"),
  ...HOSTS_FLAGS,
  ...MIX_FLAGS,
  seed: seedFlag('the same seed sends the same requests (default: random)'),
}

/**
 * @param {Record<string, any>} flags parsed by PLAN_FLAGS @param {NodeJS.ProcessEnv} [settings] of the API @returns {Plan}
 * @throws {UsageError} where flags do not go together
 */
export function planOf(flags, settings = {}) {
  const { url = null, ssh } = flags
  const sshPlan = sshPlanOf(flags)
  const driver = DRIVERS[flags.driver ?? 'paced']
  const isBounded = driver.loop === 'closed' || flags.connections
  const connections = isBounded ? (flags.connections ?? [DEFAULTS.connections]) : []
  const searches = driver.loop === 'open' && !flags.rates
  const times = searches ? SEARCH : LADDER
  const timeout_s = (flags.timeout ?? DEFAULTS.timeout_ms) / 1000
  const mix = mixOf(flags)
  const slos = slosOf(flags, mix.entries)
  const least_ms = driver.loop === 'open' ? SLO_TIMES * highestP99Of({ slo: slos[0], slos, timeout_s }) : 0
  const duration_s = (flags.duration ?? Math.max(times.duration_ms, least_ms)) / 1000
  refuseMisfits(driver, flags, connections, duration_s, slos[0].by_entry)
  const urls = [url ?? ssh ?? null]
  const target_connections_max = Number(settings.MAX_CONNECTIONS ?? SETTINGS.MAX_CONNECTIONS.default)
  const origin = originOf(flags, { drivers: [driver.name], connections: Math.min(...connections), urls })
  return {
    url,
    metrics_url: flags['metrics-url'] ?? null,
    ssh: sshPlan,
    driver: driver.name,
    rates_rps: flags.rates ?? null,
    connections,
    ...(!isBounded && { connections_max: mostConnections(origin) }),
    ...(!isBounded && url === null && { target_connections_max }),
    fresh_connections: flags['no-keep-alive'] === true,
    unbounded: flags.unbounded === true,
    ...(flags.arrivals && { arrivals: flags.arrivals }),
    searches,
    ...(searches && !flags['no-proof'] && { proves: true }),
    ...(flags.dose !== undefined && { dose_ratio: flags.dose / 100 }),
    ...(flags.pid && { pids: flags.pid }),
    confirms: searches && flags['no-confirm'] !== true,
    ...(flags.sustained && { sustained_s: flags.sustained / 1000 }),
    mix,
    slo: slos[0],
    ...(slos.length > 1 && { slos }),
    warmup_s: (flags.warmup ?? times.warmup_ms) / 1000,
    duration_s,
    timeout_s,
    ...origin,
  }
}

/** The SLOs that were asked for, each with those of the mix's entries. @param {Record<string, any>} flags @param {Entry[]} [entries] */
function slosOf({ slo: asked, ...flags }, entries = []) {
  const success_ratio = flags['slo-success'] ?? DEFAULTS.slo_success_ratio
  const given = asked ?? [{ p99_ms: flags['slo-p99'] ?? DEFAULTS.slo_p99_ms }]
  const own = entries.flatMap(({ name, slo }) => (slo ? [[name, slo]] : []))
  const by_entry = own.length > 0 && { by_entry: Object.fromEntries(own) }
  return given.map((/** @type {Bounds} */ bounds) => ({ p99_ms: UNBOUNDED_MS, success_ratio, ...bounds, ...by_entry }))
}

/** @param {Driver} driver @param {Record<string, any>} flags @param {number[]} connections @param {number} duration_s @param {object} [by_entry] */
function refuseMisfits({ name, loop }, flags, connections, duration_s, by_entry) {
  const requests = (flags.rates ?? []).map((/** @type {number} */ rate_rps) => rate_rps * duration_s)
  const [least, most] = [Math.min(...requests), Math.max(...requests)]
  const isClosed = loop === 'closed'
  /** Messages, and whether they apply. */
  const misfits = {
    [`--rates: expected an open-loop driver (paced or vegeta), got ${name}, which takes --connections`]:
      isClosed && flags.rates,
    [`--connections: expected one number for the open-loop driver ${name}, got ${connections}`]:
      !isClosed && connections.length > 1,
    '--slo: expected all conditions in it, got --slo-p99 or --slo-success as well':
      flags.slo && (flags['slo-p99'] || flags['slo-success']),
    [`--slo: expected one for the closed-loop driver ${name}, which finds no capacity, got ${flags.slo?.length}`]:
      isClosed && flags.slo?.length > 1,
    '--mix: expected a driver that counts by entry, as its entries have SLOs, got wrk': by_entry && name === 'wrk',
    [`--unbounded: expected --driver vegeta, got ${name}, whose connections are a fixed set`]:
      flags.unbounded && name !== 'vegeta',
    '--sustained: expected a search for the capacity, without --rates and in an open loop':
      flags.sustained && (flags.rates || isClosed),
    [`--arrivals: expected --driver paced, got ${name}, which sends evenly or as answers come`]:
      flags.arrivals === 'poisson' && name !== 'paced',
    "--pid: requires --url; the local API's own processes are known": flags.pid && !flags.url,
    "--metrics-url: requires --url; the local API's own page is always read": flags['metrics-url'] && !flags.url,
    [`--duration: expected time for one request at each rate, got ${least.toFixed(2)} requests`]: least < 1,
    [`--duration: expected at most ${MAX_REQUESTS} requests in a trial, got ${most}`]: most > MAX_REQUESTS,
  }
  const [misfit] = Object.entries(misfits).filter(([, isMisfit]) => isMisfit)
  if (misfit) throw new UsageError(misfit[0])
}

/** @param {string} text */
function runningProcess(text) {
  const pid = /^\d{1,7}$/.test(text) ? Number(text) : 0
  const name = pid > 0 ? nameOf(pid) : null
  // A family with this process in it cannot be stopped for a dose.
  return name === null || familyOf(pid).includes(process.pid) ? undefined : { pid, name }
}

/** Refuses processes that have ended since they were named, as before a --resume: their id may be another's now. @param {Plan} plan @throws {UsageError} */
export function refuseEnded({ pids = [] }) {
  for (const { pid, name } of pids) {
    const now = nameOf(pid) ?? 'none'
    if (now !== name)
      throw new UsageError(`--pid ${pid}: expected the process ${name}, got ${now}: start another run with its new id`)
  }
}

/**
 * A plan for loads on services of our own, none of which is judged by its latency.
 * @param {{ seed: number, duration_s: number, timeout_s: number }} options @returns {Plan}
 */
export function localPlan({ seed, duration_s, timeout_s }) {
  const asked = { fresh_connections: false, unbounded: false, searches: false, confirms: false }
  const load = { driver: 'paced', rates_rps: null, connections: [], warmup_s: 0, duration_s, timeout_s }
  const slo = { p99_ms: timeout_s * 1000, success_ratio: 1 }
  return { url: null, metrics_url: null, ...asked, ...load, mix: createUserMix(seed), slo }
}
