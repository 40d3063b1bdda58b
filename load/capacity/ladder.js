/** @import { TrialRecord } from '../report/record.js' */

/** Number of invalid trials after which a rung or rate is abandoned. */
export const MAX_INVALID = 3
/**
 * Warm-up of a service that has just started. Under full load, V8 optimizes for about five seconds: in the first second, a request to
 * the API costs about twice as much CPU as in the sixth; in the third, it still costs a quarter more.
 */
export const COLD_WARMUP_S = 6

/** A large design loses little by skipping one place; retrying it longer would upset the design's balance over time. */
const MAX_TRIES = 2

/**
 * @typedef {{ rate_rps: number | null, connections: number }} Rung
 * @typedef {Pick<TrialRecord, 'load' | 'outcome'>} TrialOfRung
 */

/**
 * The next rung to measure; null when done. A rung listed twice is measured twice. Pure.
 * @template {Rung} R
 * @param {R[]} rungs wanted @param {TrialOfRung[]} trials so far
 */
export function nextRung(rungs, trials) {
  const invalid = trials.filter((trial) => !isValid(trial))
  return unanswered(rungs, trials).find((rung) => trialsOf(rung, invalid).length < MAX_INVALID) ?? null
}

/** Number of trials whose majority decides a rate that contradicts another. A tie is decided by one more. */
const VOTES = 3

/**
 * A rung to repeat because it failed below one that passed, passed above one that failed, or did both equally often. Returns null if
 * there is none, or if it has enough trials. Pure.
 * @template {Rung} R
 * @param {R[]} rungs of an open loop @param {TrialOfRung[]} trials
 */
export function contradictedRung(rungs, trials) {
  const levels = levelsOf(trials)
  const invalid = trials.filter((trial) => !isValid(trial))
  const [lowestFail, highestPass] = edgesOf(levels)
  const doubtful = levels.filter(({ rate_rps, passes, verdict }) => {
    const isTied = passes.filter(Boolean).length * 2 === passes.length
    const isContradicted = verdict === 'fail' ? rate_rps < highestPass : rate_rps > lowestFail
    return isTied || (passes.length < VOTES && isContradicted)
  })
  const inOrder = doubtful.sort((a, b) => a.passes.length - b.passes.length)
  const again = inOrder.flatMap((level) => rungs.find(({ rate_rps }) => rate_rps === level.rate_rps) ?? [])
  return again.find((rung) => trialsOf(rung, invalid).length < MAX_INVALID) ?? null
}

/** The verdict on each rate of an open loop, by the majority of its valid trials. @param {TrialOfRung[]} trials */
function levelsOf(trials) {
  const valid = trials.filter((trial) => trial.load.loop === 'open' && isValid(trial))
  const rates = [...new Set(valid.map(({ load }) => Number(load.rate_rps)))]
  return rates.map((rate_rps) => {
    const own = valid.filter(({ load }) => load.rate_rps === rate_rps)
    const passes = own.map(({ outcome }) => outcome.verdict === 'pass')
    const isPass = passes.filter(Boolean).length * 2 > passes.length
    return { rate_rps, passes, verdict: isPass ? 'pass' : 'fail' }
  })
}

/** The lowest rate that failed, and the highest that passed. @param {ReturnType<typeof levelsOf>} levels */
function edgesOf(levels) {
  const rates = (/** @type {string} */ wanted) =>
    levels.flatMap(({ rate_rps, verdict }) => (verdict === wanted ? rate_rps : []))
  return [Math.min(...rates('fail')), Math.max(...rates('pass'))]
}

/** The rungs that have no valid trial, in order. @template {Rung} R @param {R[]} rungs @param {TrialOfRung[]} trials */
export function unanswered(rungs, trials) {
  const valid = trials.filter(isValid)
  return rungs.filter((rung, i) => {
    const wanted = rungs.slice(0, i + 1).filter((other) => isSame(other, rung)).length
    return trialsOf(rung, valid).length < wanted
  })
}

/** Whether a trial says anything about the target. @param {{ outcome: { verdict: string } }} trial */
export function isValid({ outcome }) {
  return outcome.verdict !== 'invalid'
}

/** The trial with the highest goodput. @template {Pick<TrialRecord, 'traffic'>} T @param {T[]} trials at least one */
export function bestOf(trials) {
  return trials.reduce((one, other) => (other.traffic.goodput_rps > one.traffic.goodput_rps ? other : one))
}

/** Whether nobody listened any more: no request of a trial got further than a refused connection. @param {Pick<TrialRecord, 'traffic'>} trial */
export function isRefused({ traffic: { ok, status, errors } }) {
  const { 'server:refused': refused = 0, ...others } = { ...status, ...errors }
  return ok === 0 && refused > 0 && Object.values(others).every((count) => count === 0)
}

/**
 * Whether a place in a design needs no further trial: either one counts, or too many do not. Pure.
 * @template {{ outcome: { verdict: string } }} T
 * @param {T[]} trials at that place only @param {(trial: T) => boolean} [counts]
 * @param {number} [tries] number of trials after which to give up
 */
export function isSettled(trials, counts = isValid, tries = MAX_TRIES) {
  return trials.some(counts) || trials.length >= tries
}

/**
 * Bounds the capacity from an open-loop ladder: the lowest rate that failed, and the highest below it that passed; null if there is
 * none. A pass above a failed rate counts as luck.
 * @param {TrialOfRung[]} trials
 */
export function capacityOf(trials) {
  const levels = levelsOf(trials)
  if (levels.length === 0) return null
  const [lowestFail] = edgesOf(levels)
  const [, highestPass] = edgesOf(levels.filter(({ rate_rps }) => rate_rps < lowestFail))
  const [low_rps, high_rps] = [highestPass, lowestFail].map((rate) => (Number.isFinite(rate) ? rate : null))
  return { low_rps, high_rps, trials: levels.reduce((sum, { passes }) => sum + passes.length, 0) }
}

/** @param {Rung} rung @param {TrialOfRung[]} trials */
function trialsOf(rung, trials) {
  return trials.filter(({ load }) => isSame(load, rung))
}

/** @param {Rung} a @param {Rung} b */
function isSame(a, b) {
  return a.rate_rps === b.rate_rps && a.connections === b.connections
}
