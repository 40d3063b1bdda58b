import { TIMEOUT, UNSENT } from '../generators/drivers/errors.js'
import { breakdown, count, milliseconds, tenthPercent } from '../report/format.js'
import { highestP99, latencyBounds, TRIAL_TIMES } from '../report/slo.js'
import { expandCores } from '../system/machine.js'
import { growingBacklog, isTooShort } from './backlog.js'
import * as generator from './detectors/generator.js'
import { boundedLatencies, brokenBounds, failingEntries } from './latencies.js'
import { sharedCore } from './ledger.js'

/**
 * @import { Finding } from './detectors/finding.js'
 * @import { Outcome, Slo, TrialRecord, TrialTraffic } from '../report/record.js'
 */

/** Errors of the target besides server:…: responses that are late, and requests that it left no connection for. */
const OF_TARGET = [TIMEOUT, UNSENT]

/**
 * Judges a trial. Pure.
 *
 * An `invalid` trial says nothing about the target: the stored rows do not match its acknowledgements, the generator was the
 * limit, or another process used its core. A late generator or a noisy neighbour can only add latency. A pass therefore remains valid,
 * high latency may be their fault, and error responses never are. With several load hosts, none may fall behind, or the load
 * would not be the one requested.
 * @param {Trial} trial @param {Slo} slo
 * @returns {Outcome}
 * @typedef {Pick<TrialRecord, 'target' | 'load' | 'traffic' | 'probes' | 'doses'> & Partial<Pick<TrialRecord, 'settings'>>} Trial
 */
export function judge(trial, slo) {
  const { traffic } = trial
  const mismatch = rowMismatch(traffic)
  if (mismatch) return invalid('rows', mismatch)

  const foreign = Object.entries(traffic.errors).filter(([key]) => !/^server:/.test(key) && !OF_TARGET.includes(key))
  if (foreign.length > 0) {
    const list = foreign.map(([key, number]) => `${number} ${key}${whereOf(traffic, key)}`).join(', ')
    const blame = foreign.some(([key]) => key.startsWith('client:')) ? 'generator' : 'unknown'
    return invalid(blame, `errors that are not the target's: ${list}`)
  }

  if (trial.doses) return { verdict: 'pass', because: 'its slices are compared with each other, not with the SLO' }
  if (slo.by_entry && !traffic.by_entry) {
    return invalid('unknown', 'the driver did not count by entry, so the SLOs of the entries could not be judged')
  }
  const failure = failureOf(trial, slo)
  const isShared = trial.load.loop === 'open' && Number(traffic.hosts?.length) > 1
  const behind = isShared ? generator.hostBehind(trial, slo) : null
  if (behind && behind.reach >= 1) {
    const others = failure ?? 'the other load hosts went on, so this was not the load asked for'
    return invalid('generator', `${behind.evidence[0]} (${others})`)
  }
  if (failure === null) {
    if (!traffic.untimed && isTooShort(trial, slo)) return invalid('unknown', tooShort(trial, slo))
    const stored = traffic.rows_stored === null ? 'answered' : 'stored'
    const inTime = traffic.untimed ? ['not timed'] : boundedLatencies(traffic, slo).map(comparison)
    return { verdict: 'pass', because: [...inTime, `${traffic.ok} of ${traffic.planned} ${stored}`].join(', ') }
  }
  const [excuse, blame] = excuseOf(trial, slo)
  return excuse ? invalid(blame, `${excuse.evidence[0]} (${failure})`) : { verdict: 'fail', because: failure }
}

/** @param {Outcome['blame']} blame @param {string} because */
function invalid(blame, because) {
  return { verdict: /** @type {const} */ ('invalid'), because, blame }
}

/** @param {Trial} trial @param {Slo} slo */
function failureOf({ load, traffic }, slo) {
  const few = (/** @type {number} */ ok, /** @type {number} */ of, /** @type {number} */ ratio) =>
    `${ok} of ${of} succeeded, ${+(ratio * 100).toFixed(3)} % expected`
  if (traffic.success_ratio < slo.success_ratio) {
    const others = unsuccessful(traffic)
    return `${few(traffic.ok, traffic.planned, slo.success_ratio)}${others && `; the others: ${others}`}`
  }
  const failing = failingEntries(traffic, slo).map(({ entry, ok, ended, success_ratio }) => {
    return `${entry}: ${few(ok, ended, success_ratio)}`
  })
  const broken = traffic.untimed ? [] : brokenBounds(traffic, slo).map(comparison)
  if (failing.length + broken.length > 0) return [...failing, ...broken].join(', ')
  if (traffic.untimed) return null
  const growing = growingBacklog({ load, traffic }, slo)
  if (!growing) return null
  const { share, first, last } = growing
  return `the backlog grew, by ${tenthPercent(share)} of the rate: from ${count(first)} to ${count(last)} requests`
}

/** @param {Trial} trial @param {Slo} slo */
function tooShort({ load, traffic }, slo) {
  const [p99, length, enough] = [
    traffic.latency_ms?.p99 ?? 0,
    1000 * load.duration_s,
    TRIAL_TIMES * highestP99(slo, load.timeout_s),
  ].map(milliseconds)
  return `with a p99 of ${p99}, a trial of ${length} is too short to tell slow answers from a growing queue: expected a --duration of ${enough}, three times the p99 that the SLO allows`
}

/** Most kinds of error that a verdict lists. */
const MOST_KINDS = 3

/** The answers that were no successes, and the errors, the most frequent first. @param {TrialTraffic} traffic */
function unsuccessful({ status, errors }) {
  const answers = Object.entries(status).filter(([code]) => code[0] !== '2')
  const kinds = [...answers, ...Object.entries(errors)].filter(([, number]) => number > 0)
  const most = kinds.sort(([, a], [, b]) => b - a).slice(0, MOST_KINDS)
  return most.length > 0 ? breakdown(Object.fromEntries(most)) : ''
}

/** @param {ReturnType<typeof boundedLatencies>[0]} latency */
function comparison({ entry, name, seen_ms, bound_ms }) {
  const isOver = seen_ms > bound_ms
  return `${entry && `${entry}: `}${name} ${shortened(seen_ms, bound_ms)} ms ${isOver ? '>' : '<='} ${bound_ms} ms`
}

/** A figure to three digits, or to as many as show on which side of a bound it lies. @param {number} value @param {number} bound */
function shortened(value, bound) {
  const rounded = [3, 4, 5, 6].map((digits) => Number(value.toPrecision(digits)))
  return rounded.find((one) => one > bound === value > bound) ?? value
}

/**
 * Finds a cause other than the target. A late generator or a noisy neighbour can excuse late responses and timeouts. Only a
 * generator so late that requests went stale can excuse broken connections and 408s, along with the few error responses
 * among them. Nothing else excuses an error response.
 * @param {Trial} trial @param {Slo} slo @returns {[Finding, Outcome['blame'], boolean] | []}
 */
function excuseOf(trial, slo) {
  const { status, errors, ok, planned } = trial.traffic
  const refusals = Object.entries(status).filter(([code]) => code[0] !== '2' && code !== REQUEST_TIMEOUT)
  const failing = failingEntries(trial.traffic, slo)
  // Errors that the SLO accepts are not why the trial failed.
  const isFewer = trial.traffic.success_ratio < slo.success_ratio
  const isShort = isFewer || failing.length > 0
  const refused = isFewer
    ? refusals.reduce((sum, [, number]) => sum + number, 0)
    : failing.reduce((sum, { completed, ok }) => sum + completed - ok, 0)
  if (isFewer && refused > 0 && (ok + refused) / planned >= slo.success_ratio) return []
  if (failing.some(({ isRefused }) => isRefused)) return []
  const gaveUp = REQUEST_TIMEOUT in status || Object.keys(errors).some((key) => key !== TIMEOUT && key !== UNSENT)
  const broke = isShort && (refused > 0 || gaveUp)
  const isOpen = trial.load.loop === 'open'
  const isComplete = !broke && !(TIMEOUT in errors)
  // Latencies from the actual send, if the driver reports them.
  const sent_ms = trial.traffic.ok_service_ms
  const wasSoonEnough = latencyBounds(slo).every(([name, bound_ms]) => (sent_ms?.[name] ?? 0) <= bound_ms)
  const lateness = generator.generatorLateness(trial, slo)
  /** @type {[Finding, Outcome['blame'], boolean][]} */
  const excuses = [
    [lateness, 'generator', isOpen && (!broke || lateness.reach >= AGED_REACH) && couldExplain(trial, slo)],
    [generator.generatorSaturated(trial), 'generator', isOpen && !broke],
    [generator.generatorThrottled(trial), 'generator', !broke],
    [generator.generatorCrowding(trial), 'generator', isOpen && isComplete],
    [generator.generatorConnections(trial, slo), 'generator', isComplete && wasSoonEnough],
    [generator.machineNoise(trial), 'noise', !broke && couldDelay(trial, slo)],
  ]
  return excuses.find(([{ reach }, , applies]) => applies && reach >= 1) ?? []
}

/**
 * A generator that waits for its core for this share of the time measures its own wait. Where Postgres filled the core that they share,
 * it waited for up to half of the time; starved on purpose, for nearly all of it (measured).
 */
const STARVED_RATIO = 0.75
/** Share of the common core that Postgres may use: above it, the generator may be starved by the load that it offers. */
const MOST_POSTGRES = 0.25

/** Whether something other than the target kept the generator from its core. @param {Pick<Trial, 'load' | 'probes'>} trial */
function isStarved({ load, probes }) {
  // Other drivers are processes that the probe does not watch.
  if (load.driver !== 'paced' || !sharedCore(probes)) return false
  const postgres_ratio = Number(probes.postgres.cpu_core_ratio ?? 1)
  return Number(probes.generator.run_delay_ratio) >= STARVED_RATIO && postgres_ratio <= MOST_POSTGRES
}

/**
 * Lateness of the generator counts three times: in the late send itself, in the wait of the burst that follows, and in the late reading
 * of responses. So does what the service waits for its core: others that run there also change what its caches hold.
 */
const LATENESS_TIMES = 3

/**
 * Whether responses could have met the SLO had the generator been on time. If it was later than the whole SLO, it measured only itself.
 * Slight lateness does not explain a queue many times longer, and discarding such trials would leave only the successful ones.
 * @param {Trial} trial @param {Slo} slo
 */
function couldExplain({ load, traffic, probes }, slo) {
  if (isStarved({ load, probes })) return true
  const broken = brokenBounds(traffic, slo)
  const late_ms = probes.generator.lateness_ms?.p99 ?? 0
  const isShort = traffic.success_ratio < slo.success_ratio || failingEntries(traffic, slo).length > 0
  // A request that is a little late is not answered a timeout later.
  if (isShort && late_ms <= highestP99(slo, load.timeout_s)) return false
  const growing = !isShort && broken.length === 0 && growingBacklog({ load, traffic }, slo)
  // Lateness moves a backlog by what came late, and no further.
  if (growing) return (1000 * (growing.last - growing.first)) / Number(load.rate_rps) <= LATENESS_TIMES * late_ms
  return broken.every(({ name, seen_ms, bound_ms }) => {
    const own_ms = probes.generator.lateness_ms?.[name] ?? 0
    return own_ms > bound_ms || seen_ms - LATENESS_TIMES * own_ms <= bound_ms
  })
}

/**
 * Whether the service waited for its core long enough to explain what is late: it delays no request by more than it waited in all, or
 * than the host took from it. Programs that hardly made it wait excuse no queue of seconds.
 * @param {Trial} trial @param {Slo} slo
 */
function couldDelay({ target, load, traffic, probes }, slo) {
  const { run_delay_ratio } = probes.api
  if (run_delay_ratio == null) return true
  const taken = expandCores(target.cores ?? '').map((core) => probes.kernel.cores?.[core]?.steal_ratio ?? 0)
  const span_ms = 1000 * load.duration_s + (traffic.latency_ms?.max ?? 0)
  const most_ms = LATENESS_TIMES * Math.min(1, run_delay_ratio + Math.max(0, ...taken)) * span_ms
  const broken = brokenBounds(traffic, slo)
  const growing = broken.length === 0 && growingBacklog({ load, traffic }, slo)
  if (growing) return (1000 * (growing.last - growing.first)) / Number(load.rate_rps) <= most_ms
  return broken.every(({ seen_ms, bound_ms }) => seen_ms === Number.POSITIVE_INFINITY || seen_ms - most_ms <= bound_ms)
}

/** Status with which the target reports that a request did not arrive in time. */
const REQUEST_TIMEOUT = '408'
/** Multiple of the allowed lateness beyond which requests go stale. */
const AGED_REACH = 100

/**
 * Describes a mismatch between stored rows and responses. Every 201 is one row. A request that got no response or a 504
 * (outcome unknown) may have stored one, so rows may exceed 201s by at most the number of those, warm-up included.
 * @param {TrialRecord['traffic']} traffic
 */
function rowMismatch({ rows_stored, status, sent, completed, warmup_unanswered }) {
  if (rows_stored === null) return null
  const acknowledged = status[201] ?? 0
  const unanswered = sent - completed + warmup_unanswered
  const unknown = status[504] ?? 0
  if (rows_stored >= acknowledged && rows_stored <= acknowledged + unanswered + unknown) return null
  const open = `${unanswered} had no answer${unknown > 0 ? `, ${unknown} an unknown outcome` : ''}`
  return `${acknowledged} requests were answered 201, ${rows_stored} rows were stored (${open})`
}

/** Names the load hosts that saw an error. @param {TrialTraffic} traffic @param {string} key */
function whereOf({ hosts = [] }, key) {
  const names = hosts.filter(({ errors }) => key in errors).map(({ host }) => host)
  return names.length > 0 ? ` (on ${names.join(' and ')})` : ''
}
