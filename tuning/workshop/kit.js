import { KNOBS } from '../knobs/knobs.js'

/**
 * What exercises are made of: loads, and kinds of answers.
 *
 * @import { Facts, Found, Kind, Measurement } from './exercise.js'
 * @import { Cell } from '../../load/report/record.js'
 */

const TIMES = { warmup_s: 1, duration_s: 3 }
const CLOSED = { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, ...TIMES }
const OPEN = { driver: 'paced', loop: /** @type {const} */ ('open'), connections: 256, ...TIMES }

/**
 * A closed loop, of which only the rate matters.
 *
 * @param {string} name @param {Cell} cell @param {number} connections @param {Partial<Measurement['load']>} [load]
 * @returns {Measurement}
 */
export function closed(name, cell, connections, load = {}) {
  return { name, cell, load: { ...CLOSED, connections, ...load }, countsAlways: true }
}

/**
 * An open loop.
 *
 * @param {string} name @param {Cell} cell @param {number} rate_rps
 * @param {Partial<Measurement['load']> & { countsAlways?: boolean }} [options]
 * @returns {Measurement}
 */
export function offered(name, cell, rate_rps, { countsAlways = false, ...load } = {}) {
  return { name, cell, load: { ...OPEN, rate_rps, ...load }, countsAlways }
}

/** People talk about rates of two digits. @param {number} rate_rps */
export function rounded(rate_rps) {
  return Math.max(1, Number(rate_rps.toPrecision(2)))
}

/** Successes a second of a measurement. @param {Found} found @param {string} name */
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

/** One statement for each row, and a database that is `5 ms` away: its capacity is about the same on every machine. */
export const FAR = { INSERT_MODE: 'single', POOL_MAX: 4, DB_DELAY_MS: 5 }

/** Twice the peak; half as much again where all processes share cores, which twice would saturate. @param {Found} found */
export function moreThanPeak(found) {
  return ofPeak(found, found.facts.pinned ? 2 : 1.5)
}

/** No request is refused for having waited, so that the waiting can be seen. */
export const PATIENT = {
  POOL_CONNECT_TIMEOUT_MS: 30_000,
  MAX_QUEUE_MS: 0,
  MAX_QUEUE_REQUESTS: 1_000_000,
  MAX_LOOP_DELAY_MS: 0,
}

const LETTERS = 'abcdefgh'

/**
 * One of a few.
 *
 * @param {Record<string, string>} options what each value says
 * @param {{ only?: (value: string, facts: Facts) => boolean }} [limits] only: whether this machine has it
 * @returns {Kind}
 */
export function choice(options, { only = () => true } = {}) {
  const valuesOf = (/** @type {Facts} */ facts) => Object.keys(options).filter((value) => only(value, facts))
  return {
    parse: (text, facts) => {
      const values = valuesOf(facts)
      const said = text.toLowerCase().replace(/\)$/, '')
      return said.length === 1 ? values[LETTERS.indexOf(said)] : values.find((value) => value.toLowerCase() === said)
    },
    expected: (facts) => `a letter from a to ${LETTERS[valuesOf(facts).length - 1]}`,
    choices: (facts) => valuesOf(facts).map((value, i) => `${LETTERS[i]}) ${options[value]}`),
  }
}

/**
 * `2,000`, `2000/s` and `2000 ms` are taken for 2000.
 *
 * @param {string} unit such as "requests/s"
 * @param {number} least
 * @param {number} most
 * @param {{ whole?: boolean }} [options]
 * @returns {Kind}
 */
export function number(unit, least, most, { whole = true } = {}) {
  return {
    parse: (text) => {
      const match = /^(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)\s*(?:\/s|rps|ms|s|%|x)?$/.exec(text)
      const value = match ? Number(match[1].replaceAll(',', '')) : Number.NaN
      return value >= least && value <= most && (!whole || Number.isInteger(value)) ? value : undefined
    },
    expected: () => `a ${whole ? 'whole ' : ''}number from ${least} to ${most} (${unit})`,
  }
}

/** `NAME=VALUE`, parsed as { name, level }. @param {...string} names of KNOBS @returns {Kind} */
export function setting(...names) {
  return {
    parse: (text) => {
      const [, typed = '', value] = /^([a-z_]+)\s*=\s*(\S+)$/i.exec(text) ?? []
      const name = typed.toUpperCase()
      const level = names.includes(name) ? KNOBS[name].parse(value) : undefined
      return level === undefined ? undefined : { name, level }
    },
    expected: () => `NAME=VALUE, such as ${names[0]}=…, with a value that it takes`,
    choices: () => names.map((name) => `${name}: ${KNOBS[name].about} (${KNOBS[name].expected})`),
  }
}
