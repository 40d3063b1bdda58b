import { SETTINGS } from '../../api/settings.js'
import { keptDatabaseUrl, WITHHELD } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import {
  durationFlag,
  numberFlag,
  oneOf,
  ratioOfPercent,
  seedFlag,
  switchFlag,
  wholeNumbers,
} from '../command/flags.js'
import { REFERENCES, resolveText, urlFlag } from '../command/references.js'
import { mostConnections } from '../generators/connections.js'
import { DRIVERS } from '../generators/drivers/index.js'
import { HOSTS_FLAGS, originOf } from '../generators/hosts/flags.js'
import { createUserMix } from '../generators/mix.js'
import { MIX_FLAGS, mixOf } from '../generators/mix-flags.js'
import { playTime_s, REPLAY_FLAGS } from '../generators/replay.js'
import { familyOf, nameOf } from '../probes/process.js'
import { count } from '../report/format.js'
import {
  boundsOf,
  highestP99Of,
  SLO_EXPECTED,
  TIMEOUT_TIMES,
  TRIAL_TIMES,
  timeoutOf,
  UNBOUNDED_MS,
} from '../report/slo.js'
import { sshPlanOf } from '../system/ssh/plan.js'
import { refuseLengths, refuseMisfits } from './misfits.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { Bounds, Entry, MixPlan, Plan } from '../report/record.js'
 */

/** Defaults of the flags; connections: of a closed loop. */
const DEFAULTS = { connections: 256, warmup_ms: 1000, timeout_ms: 10_000, slo_p99_ms: 100, slo_success_ratio: 1 }
/** Duration of a trial at a requested load, and of one of a search's many trials. */
const LADDER_MS = 10_000
const SEARCH_MS = 2000
/** Half-width of a quick search's interval, as a share of its middle. */
const QUICK_PRECISION_RATIO = 0.08
const MAX_RATE_RPS = 1_000_000
const MAX_TRIAL_S = 24 * 3600
/** Significant digits of a rate computed from a log and a speed. */
const RATE_DIGITS = 4

/** Flags for the load, its target and the SLO. @satisfies {Record<string, Flag>} */
export const PLAN_FLAGS = {
  rates: {
    value: 'A,B,C',
    about: 'offered rates in requests/s (default: search for the capacity)',
    ...wholeNumbers(1, MAX_RATE_RPS),
  },
  driver: {
    value: 'NAME',
    about: 'paced (open loop, default), vegeta (open loop), workers, autocannon, client, wrk or locust (closed loop)',
    ...oneOf(Object.keys(DRIVERS)),
  },
  arrivals: {
    value: 'HOW',
    about: 'spacing of requests in an open loop: even (default), or poisson (random, like independent users)',
    ...oneOf(['even', 'poisson']),
  },
  connections: {
    value: 'N',
    about: `number of connections (default: as many as the rate needs within the SLO; closed loop: ${DEFAULTS.connections}, or a list)`,
    ...wholeNumbers(1, 60_000),
  },
  duration: durationFlag(
    `duration of each trial (default ${LADDER_MS / 1000}s; in a search ${SEARCH_MS / 1000}s, or ${TRIAL_TIMES} x the SLO's p99 if that is longer)`,
  ),
  warmup: durationFlag(`warm-up before each trial (default ${DEFAULTS.warmup_ms / 1000}s)`),
  timeout: durationFlag(
    `longest wait for a response (default ${DEFAULTS.timeout_ms / 1000}s, or ${TIMEOUT_TIMES} times the longest bound of the SLO, whichever is longer)`,
  ),
  'slo-p99': durationFlag(`a trial passes with a p99 up to this (default ${DEFAULTS.slo_p99_ms}ms)`),
  'slo-success': {
    value: 'PERCENT',
    about: `a trial passes with at least this success percentage (default ${100 * DEFAULTS.slo_success_ratio})`,
    parse: ratioOfPercent,
    expected: 'a percentage above 0, at most 100, such as 99.9',
  },
  slo: {
    value: 'CONDITIONS',
    about:
      'instead of --slo-p99 and --slo-success: p50<5ms,p99<50ms,success>=99.9% (also p90, p95, p999, mean, max; success is 100 % unless stated). With several --slo, the run finds a capacity for each; the first is the answer',
    parse: boundsOf,
    expected: SLO_EXPECTED,
    multiple: true,
  },
  sustained: durationFlag(
    'in a search, try the highest rate that passed for this long (over 10s), with a CHECKPOINT of Postgres in it (not of a Postgres behind --url)',
  ),
  'no-confirm': switchFlag('skip the test that relaxes the limit to see whether the capacity moves'),
  'no-proof': switchFlag('skip the proof of the limit, which slows each suspect in turn (saves one to two minutes)'),
  quick: switchFlag(
    'accept a wider interval, and skip that test and the proof (--no-confirm, --no-proof): under two minutes',
  ),
  dose: {
    ...numberFlag(
      'by how much each suspect is slowed (default 10); 0 tests the proof itself: every interval should contain 0',
      0,
      30,
    ),
    value: 'PERCENT',
  },
  pid: {
    value: 'N',
    about:
      'a local process of the service behind --url, or of its Postgres, with its children: Redline watches its CPU, memory and files, and the proof slows it (repeatable)',
    parse: runningProcess,
    expected: 'the id of a running process that did not start this one',
    multiple: true,
  },
  'no-keep-alive': switchFlag('open a new connection for each request'),
  unbounded: switchFlag('run vegeta with its defaults, which bound neither workers nor connections'),
  url: urlFlag('url', 'load a running service; Redline does not touch its database'),
  start: {
    value: 'COMMAND',
    about:
      'command that starts the service behind --url; Redline pins it to a core of its own, and restarts it between some trials',
    shown: () => WITHHELD,
  },
  'postgres-url': {
    value: 'URL',
    about: `the Postgres of that service, read-only, to see what its sessions wait for; may contain ${REFERENCES}`,
    shown: keptDatabaseUrl,
    parse: postgresUrl,
    expected: 'a URL such as postgres://user:password@host:5432/database',
  },
  'metrics-url': urlFlag('metrics-url', "the metrics page of that service, in Prometheus' text format"),
  ...HOSTS_FLAGS,
  ...MIX_FLAGS,
  method: { ...MIX_FLAGS.method, about: 'HTTP method (default POST; GET with a URL in place of --url)' },
  ...REPLAY_FLAGS,
  seed: seedFlag('seed of the requests; the same seed sends the same ones (default: random)'),
}

/**
 * @param {Record<string, any>} flags parsed by PLAN_FLAGS @param {NodeJS.ProcessEnv} [settings] of the API @returns {Plan}
 * @throws {UsageError} if flags contradict each other
 */
export function planOf(flags, settings = {}) {
  const { url = null, ssh } = flags
  const sshPlan = sshPlanOf(flags)
  const driver = DRIVERS[flags.driver ?? 'paced']
  const isBounded = driver.loop === 'closed' || flags.connections
  const connections = isBounded ? (flags.connections ?? [DEFAULTS.connections]) : []
  const searches = driver.loop === 'open' && !flags.rates && !flags.speed
  refuseMisfits(driver, flags, connections)
  const mix = mixOf(flags)
  const slos = slosOf(flags, mix.entries)
  // Of an SLO that bounds no latency, the longest wait is the p99.
  const unbounded_s = (flags.timeout ?? DEFAULTS.timeout_ms) / 1000
  const least_ms =
    driver.loop === 'open' ? TRIAL_TIMES * highestP99Of({ slo: slos[0], slos, timeout_s: unbounded_s }) : 0
  const duration_s = (flags.duration ?? Math.max(searches ? SEARCH_MS : LADDER_MS, least_ms)) / 1000
  refuseLengths(flags, duration_s)
  const timeout_s = timeoutOf(flags.timeout, DEFAULTS.timeout_ms, slos) / 1000
  if (slos[0].by_entry && driver.name === 'wrk') {
    throw new UsageError('--mix: expected a driver that counts by entry, as its entries have SLOs, got wrk')
  }
  const urls = [url ?? ssh ?? null]
  const target_connections_max = Number(settings.MAX_CONNECTIONS || SETTINGS.MAX_CONNECTIONS.default)
  const origin = originOf(flags, { drivers: [driver.name], connections: Math.min(...connections), urls })
  return {
    url,
    metrics_url: flags['metrics-url'] ?? null,
    ...(flags.start && { start: flags.start }),
    ...(flags['postgres-url'] && { postgres_url: flags['postgres-url'] }),
    ssh: sshPlan,
    driver: driver.name,
    rates_rps: flags.speed ? ratesOf(mix, flags.speed) : (flags.rates ?? null),
    connections,
    ...(!isBounded && { connections_max: mostConnections(origin) }),
    ...(!isBounded && url === null && { target_connections_max }),
    fresh_connections: flags['no-keep-alive'] === true,
    unbounded: flags.unbounded === true,
    ...(flags.arrivals && { arrivals: flags.arrivals }),
    ...(mix.replay && { arrivals: /** @type {const} */ ('recorded') }),
    searches,
    ...(searches && flags.quick && { precision_ratio: QUICK_PRECISION_RATIO }),
    ...(searches && !flags['no-proof'] && !flags.quick && { proves: true }),
    ...(flags.dose !== undefined && { dose_ratio: flags.dose / 100 }),
    ...(flags.pid && { pids: flags.pid }),
    confirms: searches && flags['no-confirm'] !== true && !flags.quick,
    ...(flags.sustained && { sustained_s: flags.sustained / 1000 }),
    mix,
    slo: slos[0],
    ...(slos.length > 1 && { slos }),
    warmup_s: (flags.warmup ?? DEFAULTS.warmup_ms) / 1000,
    duration_s,
    timeout_s,
    ...origin,
  }
}

/** The requested SLOs, each including those of the mix's entries. @param {Record<string, any>} flags @param {Entry[]} [entries] */
function slosOf({ slo: asked, ...flags }, entries = []) {
  const success_ratio = flags['slo-success'] ?? DEFAULTS.slo_success_ratio
  const given = asked ?? [{ p99_ms: flags['slo-p99'] ?? DEFAULTS.slo_p99_ms }]
  const own = entries.flatMap(({ name, slo }) => (slo ? [[name, slo]] : []))
  const by_entry = own.length > 0 && { by_entry: Object.fromEntries(own) }
  return given.map((/** @type {Bounds} */ bounds) => ({ p99_ms: UNBOUNDED_MS, success_ratio, ...bounds, ...by_entry }))
}

/** The rates that replay a log at these multiples of its own speed. @param {MixPlan} mix @param {number[]} speeds @throws {UsageError} */
function ratesOf({ replay }, speeds) {
  if (!replay) return null
  return speeds.map((speed) => {
    const rate_rps = Number((speed * replay.mean_rps).toPrecision(RATE_DIGITS))
    const length_s = playTime_s(replay, rate_rps)
    if (rate_rps <= MAX_RATE_RPS && length_s <= MAX_TRIAL_S) return rate_rps
    const most = `at most ${MAX_RATE_RPS} requests/s and ${MAX_TRIAL_S / 3600} h`
    throw new UsageError(`--speed ${speed}: expected ${most}, got ${count(rate_rps)}/s for ${count(length_s / 3600)} h`)
  })
}

/** @param {string} text */
function runningProcess(text) {
  const pid = /^\d{1,7}$/.test(text) ? Number(text) : 0
  const name = pid > 0 ? nameOf(pid) : null
  // A dose must not stop a family that includes this process.
  return name === null || familyOf(pid).includes(process.pid) ? undefined : { pid, name }
}

/** Refuses processes that have ended, for example before a --resume: their ids may be reused. @param {Plan} plan @throws {UsageError} */
export function refuseEnded({ pids = [] }) {
  for (const { pid, name } of pids) {
    const now = nameOf(pid) ?? 'none'
    if (now !== name)
      throw new UsageError(`--pid ${pid}: expected the process ${name}, got ${now}: start another run with its new id`)
  }
}

/** @param {string} text */
function postgresUrl(text) {
  const full = resolveText('postgres-url', text)
  return /^postgres(ql)?:\/\//.test(full) && URL.canParse(full) ? text : undefined
}

/**
 * A plan for loads on our own services, whose latency is not judged.
 * @param {{ seed: number, duration_s: number, timeout_s?: number }} options @returns {Plan}
 */
export function localPlan({ seed, duration_s, timeout_s = DEFAULTS.timeout_ms / 1000 }) {
  const asked = { fresh_connections: false, unbounded: false, searches: false, confirms: false }
  const load = { driver: 'paced', rates_rps: null, connections: [], warmup_s: 0, duration_s, timeout_s }
  const slo = { p99_ms: timeout_s * 1000, success_ratio: 1 }
  return { url: null, metrics_url: null, ...asked, ...load, mix: createUserMix(seed), slo }
}
