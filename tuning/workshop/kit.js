import { figure } from '../../load/report/format.js'

/**
 * The loads that exercises put on the service, the figures that they read, and the ways they judge a guess.
 * @import { Found, Measurement } from './exercise.js'
 * @import { Cell, TrialRecord } from '../../load/report/record.js'
 */

const TIMES = { warmup_s: 1, duration_s: 3 }
const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, ...TIMES }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open'), connections: 256, ...TIMES }

/** A database 5 ms away and a statement per row: the capacity is about the same on every machine. */
export const FAR = { INSERT_MODE: 'single', POOL_MAX: 4, DB_DELAY_MS: 5 }

/** Time for which the audit trail of the last exercise holds its lock, for each row. */
export const AUDIT_LOCK_MS = 16

/** No request is refused for waiting, so that the queue can be seen. */
export const PATIENT = {
  POOL_CONNECT_TIMEOUT_MS: 30_000,
  MAX_QUEUE_MS: 0,
  MAX_QUEUE_REQUESTS: 1_000_000,
  MAX_LOOP_DELAY_MS: 0,
}

/**
 * A closed loop, of which only the rate matters. @param {string} name @param {Cell} cell @param {number} connections
 * @param {Partial<Measurement['load']>} [load] @returns {Measurement}
 */
export function closed(name, cell, connections, load = {}) {
  return { name, cell, load: { ...CLOSED, connections, ...load }, countsAlways: true }
}

/**
 * An open loop. @param {string} name @param {Cell} cell @param {number} rate_rps
 * @param {Partial<Measurement['load']> & { countsAlways?: boolean }} [options] @returns {Measurement}
 */
export function offered(name, cell, rate_rps, { countsAlways = false, ...load } = {}) {
  return { name, cell, load: { ...OPEN, rate_rps, ...load }, countsAlways }
}

/** A rate with two significant digits. @param {number} rate_rps */
export function rounded(rate_rps) {
  return Math.max(1, Number(rate_rps.toPrecision(2)))
}

/** Successes per second of a measurement. @param {Found} found @param {string} name */
export function goodput(found, name) {
  return found.trials[name].traffic.goodput_rps
}

/** The goodput of one measurement as a multiple of another's. @param {Found} found @param {string} name @param {string} base */
export function times(found, name, base) {
  return goodput(found, name) / goodput(found, base)
}

/** A rate to offer: a multiple of the goodput of `peak`. @param {Found} found @param {number} factor */
export function ofPeak(found, factor) {
  return rounded(factor * goodput(found, 'peak'))
}

/** Twice the peak, or 1.5 times if all processes share cores, which twice the peak would saturate. @param {Found} found */
export function moreThanPeak(found) {
  return ofPeak(found, found.facts.pinned ? 2 : 1.5)
}

/** A guess is right if its ratio to the measured value is within bounds. @param {number} said @param {number} was @param {[number, number]} bounds @param {string} unit */
export function guessedNumber(said, was, [least, most], unit) {
  const text = `You said ${figure(said)}${unit}, it was ${figure(was)}${unit}.`
  return { right: said > least * was && said < most * was, text }
}

/** A guessed percentage is right within 15 percentage points. @param {number} said @param {number} left_ratio */
export function guessedLeft(said, left_ratio) {
  const left = 100 * left_ratio
  return { right: Math.abs(left - said) <= 15, text: `You said ${said} %, ${figure(left)} % was left.` }
}

/** A guess is right if it named the limit of the measurement "as it is". @param {Found} found */
export function guessedLimit({ trials, answers }) {
  const { resource } = trials['as it is'].limit
  return { right: answers.predict === resource, text: `At its limit: ${resource}.` }
}

/** An outcome that the SLO decides. @param {TrialRecord} trial */
export function promised({ outcome }) {
  return { solved: outcome.verdict === 'pass', because: outcome.because }
}

/** An outcome that a gain in goodput decides. @param {number} gain as a factor @param {number} least */
export function gained(gain, least) {
  return { solved: gain >= least, because: `goodput is ${gain.toFixed(2)} x what it was` }
}

/** An outcome of an exercise that is not solved. @param {string} because */
export function unsolved(because) {
  return { solved: false, because }
}

/** The limit of a trial, with its figures. @param {TrialRecord} trial */
export function limitText({ limit, outcome }) {
  if (outcome.verdict === 'invalid') return `This trial says nothing about the service: ${outcome.because}.`
  if (outcome.verdict === 'pass') return 'The promise was kept.'
  if (limit.resource === 'none-reached') return 'No resource that was observed was at its limit.'
  return `At its limit: ${limit.resource}: ${limit.evidence.join('; ')}.`
}
