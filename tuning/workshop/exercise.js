import { list, paragraph } from '../../load/report/blocks.js'
import { KNOBS } from '../knobs/knobs.js'

/**
 * @import { Column } from './evidence.js'
 * @import { factsOfMachine } from './facts.js'
 * @import { exerciseOf } from './prose.js'
 * @import { Cell, Step, TrialRecord } from '../../load/report/record.js'
 */

/**
 * What an exercise measures and how it decides: data and small pure functions. Its prose is in a Markdown file (prose.js). The
 * player (player.js) knows the order of events and nothing of any exercise; the pages (pages.js) are written from the same data.
 *
 * @typedef {object} Rules
 * @property {Record<string, number>} [constants] that the prose names in {braces}
 * @property {(facts: Facts) => string | null} [remark] what is different on this machine
 * @property {(facts: Facts) => Measurement[]} before what has to be known of this machine before anything is asked
 * @property {(found: Found) => Record<string, string>} figures what the questions name in {braces}, from the trials before
 * @property {Answering} predict
 * @property {(found: Found) => Measurement[]} first
 * @property {Record<string, string>} rows of the evidence: the name of a measurement by what its row is called
 * @property {Column[]} columns
 * @property {Record<string, (trial: TrialRecord) => string[]>} [notes] paragraphs below it, by the measurement that they are about
 * @property {(found: Found) => Comparison} compare the guess with what was measured
 * @property {Answering} turn which knob, and to what
 * @property {Answering} [expect] the effect of that
 * @property {(found: Found) => Measurement[]} again with the knob turned
 * @property {(found: Found) => Comparison} [compareExpected]
 * @property {(found: Found) => { solved: boolean, because: string }} outcome decided by what was measured
 *
 * @typedef {ReturnType<typeof exerciseOf>} Exercise
 * @typedef {ReturnType<typeof factsOfMachine>} Facts
 * @typedef {{ facts: Facts, trials: Record<string, TrialRecord>, answers: Record<string, any> }} Found all that is known so far:
 *   trials by measurement, answers by question; of several, the last
 * @typedef {{ name: string, cell: Cell, load: Step['load'], countsAlways: boolean }} Measurement cell: of the service and its
 *   surroundings; countsAlways: whatever the verdict, since the disturbance is the subject, or only the rate matters
 *
 * @typedef {object} Answering
 * @property {Kind | ((options: Record<string, string>) => Kind)} kind options: what may be chosen, and what it says
 * @property {(found: Found) => string} solution what somebody types who knows
 * @property {(found: Found) => string} [wrong] what somebody types who does not: understood, but no solution
 *
 * @typedef {Exercise['predict']} Question its hints: one after the other, each tells more
 * @typedef {{ right: boolean, text: string }} Comparison
 *
 * @typedef {object} Kind what may be answered
 * @property {(text: string, facts: Facts) => any} parse undefined: not as expected
 * @property {(facts: Facts) => string} expected completes "expected …"
 * @property {(facts: Facts) => string[]} [choices] lines to choose from
 */

const LETTERS = 'abcdefgh'

/** A question with the figures that are known. @param {Question} question @param {Facts} facts @param {Record<string, string>} [figures] */
export function questionBlocks({ text, kind }, facts, figures = {}) {
  const filled = text.replace(/\{(\w+)\}/g, (_, name) => figures[name] ?? '…')
  return [paragraph(filled), ...(kind.choices ? [list(kind.choices(facts))] : [])]
}

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
