import { KNOBS } from '../knobs/knobs.js'

/**
 * The kinds of answers that a question accepts.
 * @import { Facts } from './exercise.js'
 * @typedef {(options: Record<string, string>, facts: Facts) => Kind} KindOf options: the question's list in the prose, with
 *   the meaning of each value
 * @typedef {{ parse: (text: string) => any, expected: string, choices?: string[], letters?: Record<string, string> }} Kind parse returns undefined for unexpected
 *   text; expected completes "expected …"; choices: lines to choose from; letters: that of each option, by name
 */

const LETTERS = 'abcdefgh'

/** Words that may follow a number, by its unit. @type {Record<string, string>} */
const SUFFIXES = { 'requests/s': '/s|rps|requests/s', times: 'x|times', '%': '%' }

/** One of the options, by its letter or its name. @param {Record<string, string>} options @returns {Kind} */
export function choice(options) {
  const values = Object.keys(options)
  return {
    parse: (text) => {
      const said = text.toLowerCase().replace(/\)$/, '')
      return said.length === 1 ? values[LETTERS.indexOf(said)] : values.find((value) => value.toLowerCase() === said)
    },
    expected: `a letter from a to ${LETTERS[values.length - 1]}`,
    choices: values.map((value, i) => `${LETTERS[i]}) ${options[value]}`),
    letters: Object.fromEntries(values.map((value, i) => [value, LETTERS[i]])),
  }
}

/**
 * Two different options, by their letters or names: `a c`, `a, c`, `ac`. Parsed in the order of the options, since the order in which
 * they are typed means nothing. @param {Record<string, string>} options @returns {Kind}
 */
export function pair(options) {
  const one = choice(options)
  const values = Object.keys(options)
  return {
    ...one,
    parse: (text) => {
      const words = text.split(/[\s,;+]+|\band\b/i).filter((word) => word !== '')
      const isLetters = words.length === 1 && words[0].length === 2
      const said = (isLetters ? [...words[0]] : words).map(one.parse)
      const chosen = values.filter((value) => said.includes(value))
      return said.length === 2 && chosen.length === 2 ? chosen : undefined
    },
    expected: `2 different letters from a to ${LETTERS[values.length - 1]}, such as "a b"`,
  }
}

/** A free text, which nobody judges. @param {number} least characters @param {number} most @returns {() => Kind} */
export function prose(least, most) {
  return () => ({
    parse: (text) => (text.length >= least && text.length <= most ? text : undefined),
    expected: `a text of ${least} to ${most} characters, on one line`,
  })
}

/**
 * A number, with its unit or without; `2,000` is read as 2000. @param {string} unit such as "requests/s"
 * @param {number} least @param {number} most @param {{ whole?: boolean }} [options] @returns {() => Kind}
 */
export function number(unit, least, most, { whole = true } = {}) {
  const digits = whole ? '\\d+' : '\\d+(?:\\.\\d+)?'
  // A number in another unit would be another number.
  const pattern = new RegExp(`^(\\d{1,3}(?:,\\d{3})+|${digits})\\s*(?:${SUFFIXES[unit.split(' ')[0]] ?? unit})?$`)
  return () => ({
    parse: (text) => {
      const match = pattern.exec(text)
      const value = match ? Number(match[1].replaceAll(',', '')) : Number.NaN
      return value >= least && value <= most && (!whole || Number.isInteger(value)) ? value : undefined
    },
    expected: `a ${whole ? 'whole ' : ''}number from ${least} to ${most} (${unit})`,
  })
}

/** `NAME=VALUE`, parsed as { name, level }. @param {...string} names of KNOBS @returns {() => Kind} */
export function setting(...names) {
  return () => ({
    parse: (text) => {
      const [, typed = '', value] = /^([a-z_]+)\s*=\s*(\S+)$/i.exec(text) ?? []
      const name = typed.toUpperCase()
      const level = names.includes(name) ? KNOBS[name].parse(value) : undefined
      return level === undefined ? undefined : { name, level }
    },
    expected: `NAME=VALUE, such as ${names[0]}=…, with a value that it takes`,
    choices: names.map((name) => `${name}: ${KNOBS[name].about} (${KNOBS[name].expected})`),
  })
}
