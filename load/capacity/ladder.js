/** @import { TrialRecord } from '../report/record.js' */

/** A rung, or rate, is given up after this many invalid trials. */
export const MAX_INVALID = 3
/** A design of many places loses little with one of them, and would lose its balance in time by waiting for it. */
const MAX_TRIES = 2

/**
 * The next rung to measure, from the rungs wanted and the trials so far. A rung that is listed twice is measured twice.
 * Pure, so that a run that was cut off goes on from its file.
 *
 * @param {Rung[]} rungs @param {TrialOfRung[]} trials
 * @returns {Rung | null} null: nothing is left to do
 *
 * @typedef {{ rate_rps: number | null, connections: number }} Rung
 * @typedef {Pick<TrialRecord, 'load' | 'outcome'>} TrialOfRung
 */
export function nextRung(rungs, trials) {
  const invalid = trials.filter((trial) => !isValid(trial))
  return unanswered(rungs, trials).find((rung) => trialsOf(rung, invalid).length < MAX_INVALID) ?? null
}

/** The rungs that have no valid trial, in order. @param {Rung[]} rungs @param {TrialOfRung[]} trials */
export function unanswered(rungs, trials) {
  const valid = trials.filter(isValid)
  return rungs.filter((rung, i) => {
    const wanted = rungs.slice(0, i + 1).filter((other) => isSame(other, rung)).length
    return trialsOf(rung, valid).length < wanted
  })
}

/** The trials that say something. @param {{ outcome: { verdict: string } }} trial */
export function isValid({ outcome }) {
  return outcome.verdict !== 'invalid'
}

/**
 * Whether a place in a design needs no further trial: it has one that counts, or too many that do not. Pure.
 *
 * @template {{ outcome: { verdict: string } }} T
 * @param {T[]} trials of that place alone
 * @param {(trial: T) => boolean} [counts]
 * @param {number} [tries] that are enough to give it up
 */
export function isSettled(trials, counts = isValid, tries = MAX_TRIES) {
  return trials.some(counts) || trials.length >= tries
}

/**
 * What an open-loop ladder says about the capacity: the highest rate that passed below the lowest that failed, and that
 * lowest. A rate that passes above one that failed was luck.
 *
 * @param {TrialOfRung[]} trials
 * @returns {{ low_rps: number | null, high_rps: number | null, trials: number } | null} null without an open-loop answer;
 *   low_rps null: even the lowest rate failed; high_rps null: even the highest passed
 */
export function capacityOf(trials) {
  const valid = trials.filter((trial) => trial.load.loop === 'open' && isValid(trial))
  if (valid.length === 0) return null
  const rates = (/** @type {string} */ verdict) =>
    valid.filter(({ outcome }) => outcome.verdict === verdict).map(({ load }) => Number(load.rate_rps))
  const lowestFail = Math.min(...rates('fail'))
  const highestPass = Math.max(...rates('pass').filter((rate) => rate < lowestFail))
  const [low_rps, high_rps] = [highestPass, lowestFail].map((rate) => (Number.isFinite(rate) ? rate : null))
  return { low_rps, high_rps, trials: valid.length }
}

/** @param {Rung} rung @param {TrialOfRung[]} trials */
function trialsOf(rung, trials) {
  return trials.filter(({ load }) => isSame(load, rung))
}

/** @param {Rung} a @param {Rung} b */
function isSame(a, b) {
  return a.rate_rps === b.rate_rps && a.connections === b.connections
}
