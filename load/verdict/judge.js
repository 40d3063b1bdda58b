import { TIMEOUT, UNSENT } from '../generators/drivers/errors.js'
import { count, tenthPercent } from '../report/format.js'
import { growingBacklog } from './backlog.js'
import {
  generatorConnections,
  generatorCrowding,
  generatorLateness,
  hostBehind,
  machineNoise,
} from './detectors/generator.js'

/** @import { Outcome, Slo, TrialRecord, TrialTraffic } from '../report/record.js' */

/**
 * Judges a trial. Pure.
 *
 * `invalid` says nothing about the target: its rows are not those it acknowledged, or the generator was the limit, or
 * somebody else had its core. A generator's lateness and a neighbour only ever add to latency, so what passes beside them
 * passes; what is too late beside them may be their fault; answers that are no success are not. Of several load hosts none
 * may be behind: the load would not have been the one that was asked for.
 *
 * @param {Pick<TrialRecord, 'target' | 'load' | 'traffic' | 'probes'>} trial @param {Slo} slo
 * @returns {Outcome}
 */
export function judge(trial, slo) {
  const { traffic } = trial
  const mismatch = rowMismatch(traffic)
  if (mismatch) return invalid('rows', mismatch)

  const foreign = Object.entries(traffic.errors).filter(([key]) => !isTargets(key))
  if (foreign.length > 0) {
    const list = foreign.map(([key, number]) => `${number} ${key}${whereOf(traffic, key)}`).join(', ')
    const blame = foreign.some(([key]) => key.startsWith('client:')) ? 'generator' : 'unknown'
    return invalid(blame, `errors that are not the target's: ${list}`)
  }

  const failure = failureOf(trial, slo)
  const isShared = trial.load.loop === 'open' && Number(traffic.hosts?.length) > 1
  const behind = isShared ? hostBehind(trial, slo) : null
  if (behind && behind.reach >= 1) {
    const others = failure ?? 'the other load hosts went on, so this was not the load asked for'
    return invalid('generator', `${behind.evidence[0]} (${others})`)
  }
  if (failure === null) {
    const stored = traffic.rows_stored === null ? 'answered' : 'stored'
    const inTime = traffic.untimed ? 'not timed' : `p99 ${traffic.latency_ms?.p99} ms <= ${slo.p99_ms} ms`
    return { verdict: 'pass', because: `${inTime}, ${traffic.ok} of ${traffic.planned} ${stored}` }
  }
  const excuse = excuseOf(trial, slo)
  return excuse ? invalid(excuse.blame, `${excuse.text} (${failure})`) : { verdict: 'fail', because: failure }
}

/** @param {Outcome['blame']} blame @param {string} because @returns {Outcome} */
function invalid(blame, because) {
  return { verdict: 'invalid', because, blame }
}

/** @param {Parameters<typeof judge>[0]} trial @param {Slo} slo */
function failureOf({ load, traffic }, slo) {
  if (traffic.success_ratio < slo.success_ratio) {
    const expected = `${+(slo.success_ratio * 100).toFixed(3)} %`
    return `${traffic.ok} of ${traffic.planned} succeeded, ${expected} expected`
  }
  if (traffic.untimed) return null
  const p99_ms = traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY
  if (p99_ms > slo.p99_ms) return `p99 ${p99_ms} ms > ${slo.p99_ms} ms`
  const growing = growingBacklog({ load, traffic }, slo)
  if (!growing) return null
  const { share, first, last } = growing
  return `the backlog grew, by ${tenthPercent(share)} of the rate: from ${count(first)} to ${count(last)} requests`
}

/**
 * Who may be to blame instead of the target: for answers that came too late or not in time, a late generator and a
 * neighbour. For connections that broke and requests that the target gave up waiting for, a generator that was so late
 * that they aged in its hands; then a few refusals beside them do not matter either. For what the target answered, nobody
 * else.
 *
 * @param {Parameters<typeof judge>[0]} trial @param {Slo} slo
 */
function excuseOf(trial, slo) {
  const { status, errors, ok, planned } = trial.traffic
  const refusals = Object.entries(status).filter(([code]) => code[0] !== '2' && code !== REQUEST_TIMEOUT)
  const refused = refusals.reduce((sum, [, number]) => sum + number, 0)
  if (refused > 0 && (ok + refused) / planned >= slo.success_ratio) return null
  const gaveUp = REQUEST_TIMEOUT in status || Object.keys(errors).some((key) => key !== TIMEOUT && key !== UNSENT)
  const broke = refused > 0 || gaveUp
  const generator = trial.load.loop === 'open' ? generatorLateness(trial, slo) : null
  if (generator && generator.reach >= (broke ? AGED_REACH : 1) && couldExplain(trial, slo)) {
    return { blame: /** @type {const} */ ('generator'), text: generator.evidence[0] }
  }
  const crowding = generatorCrowding(trial)
  if (crowding.reach >= 1 && trial.load.loop === 'open' && !broke && !(TIMEOUT in errors)) {
    return { blame: /** @type {const} */ ('generator'), text: crowding.evidence[0] }
  }
  const waited = generatorConnections(trial, slo)
  if (waited.reach >= 1 && !broke && !(TIMEOUT in errors) && isInTimeOnceSent(trial, slo)) {
    return { blame: /** @type {const} */ ('generator'), text: waited.evidence[0] }
  }
  const noise = machineNoise(trial)
  return noise.reach >= 1 && !broke ? { blame: /** @type {const} */ ('noise'), text: noise.evidence[0] } : null
}

/**
 * A late send is part of a latency, the burst that follows it waits about as long again, and its answers are read as late
 * as they were sent.
 */
const LATENESS_TIMES = 3

/**
 * Whether the answers could have been in time if the generator had been. One that was later than the whole SLO measured
 * itself; one that was a little late does not explain a queue of many times that, and to drop such trials would leave only
 * those that went well.
 *
 * @param {Parameters<typeof judge>[0]} trial @param {Slo} slo
 */
function couldExplain({ traffic, probes }, slo) {
  const late_ms = probes.generator.lateness_ms?.p99 ?? 0
  const p99_ms = traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY
  return late_ms > slo.p99_ms || p99_ms - LATENESS_TIMES * late_ms <= slo.p99_ms
}

/** Whether the target met the SLO for what was sent to it; where the driver does not tell, it may have. @param {Parameters<typeof judge>[0]} trial @param {Slo} slo */
function isInTimeOnceSent({ traffic }, slo) {
  return (traffic.ok_service_ms?.p99 ?? 0) <= slo.p99_ms
}

/** The target's word for a request that did not arrive in time. */
const REQUEST_TIMEOUT = '408'
/** Times the lateness that is allowed. */
const AGED_REACH = 100

/**
 * Every 201 is a row. A request without an answer, or whose answer says that its outcome is unknown (504), may or may not
 * have become one. Rows may therefore exceed the 201s by the number of such requests, warm-up included; one more is invented.
 *
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

/** Which of several load hosts met an error. @param {TrialTraffic} traffic @param {string} key */
function whereOf({ hosts = [] }, key) {
  const names = hosts.filter(({ errors }) => key in errors).map(({ host }) => host)
  return names.length > 0 ? ` (on ${names.join(' and ')})` : ''
}

/** Its own errors, and answers that it did not give while we waited. @param {string} key */
function isTargets(key) {
  return key.startsWith('server:') || key === TIMEOUT || key === UNSENT
}
