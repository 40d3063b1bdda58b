import { parseArgs } from 'node:util'
import { UsageError } from './errors.js'

const MS_PER_UNIT = /** @type {Record<string, number>} */ ({ ms: 1, s: 1000, m: 60_000 })

/**
 * @typedef {object} Flag
 * @property {string} value what stands for the value in the help, such as DURATION; empty for a switch
 * @property {string} about one line for the help
 * @property {(raw: string) => any} [parse] gives undefined for a value that is not as expected
 * @property {string} [expected] completes "expected …"
 * @property {boolean} [multiple] may be given more than once
 * @property {(raw: string) => string} [shown] the value without its secrets, as messages and files may show it
 */

/**
 * The parsed values of the flags that were given.
 *
 * @param {Record<string, Flag>} flags
 * @param {string[]} argv without program and verb
 * @throws {UsageError}
 */
export function parseFlags(flags, argv) {
  return parseOperands(flags, argv, false).given
}

/**
 * The same, with what stands beside the flags.
 *
 * @param {Record<string, Flag>} flags
 * @param {string[]} argv without program and verb
 * @param {boolean} [allowPositionals]
 * @throws {UsageError}
 */
export function parseOperands(flags, argv, allowPositionals = true) {
  const { values, positionals } = strictly(() => parseArgs({ args: argv, options: optionsOf(flags), allowPositionals }))
  const given = Object.entries(values).map(([name, raw]) => [name, parsed(name, flags[name], raw)])
  return { given: /** @type {Record<string, any>} */ (Object.fromEntries(given)), operands: positionals }
}

/** The command line as it may be written down: without secrets. @param {Record<string, Flag>} flags @param {string[]} argv that parseFlags accepts */
export function shownArguments(flags, argv) {
  const { tokens } = parseArgs({ args: argv, options: optionsOf(flags), tokens: true })
  return tokens.flatMap((token) => {
    if (token.kind !== 'option') return []
    const { name, rawName, value, inlineValue } = token
    if (value === undefined) return [rawName]
    const shown = flags[name].shown?.(value) ?? value
    return inlineValue ? [`${rawName}=${shown}`] : [rawName, shown]
  })
}

/** @param {Record<string, Flag>} flags */
function optionsOf(flags) {
  /** @param {Flag} flag @returns {{ type: 'string' | 'boolean', multiple: boolean }} */
  const optionOf = ({ value, multiple = false }) => ({ type: value ? 'string' : 'boolean', multiple })
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, optionOf(flag)]))
}

/** @template T @param {() => T} parse @returns {T} */
function strictly(parse) {
  try {
    return parse()
  } catch (error) {
    const { code, message } = /** @type {NodeJS.ErrnoException} */ (error)
    // It may be a part of a secret that lacks its quotes.
    if (code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
      throw new UsageError('expected only flags, got a positional argument: quote values that contain spaces')
    }
    const [firstSentence] = message.split('. ')
    throw new UsageError(`${firstSentence}; --help lists what is known`)
  }
}

/** @param {string} name @param {Flag} flag @param {any} raw */
function parsed(name, flag, raw) {
  const { parse, shown, expected, multiple } = flag
  if (!parse) return raw
  const one = (/** @type {string} */ text) => {
    const value = parse(text)
    if (value !== undefined) return value
    throw new UsageError(`--${name}: expected ${expected}, got ${JSON.stringify(shown?.(text) ?? text)}`)
  }
  return multiple ? raw.map(one) : one(raw)
}

/** A flag for a whole number. @param {string} about @param {number} min @param {number} max */
export const numberFlag = (about, min, max) => ({ value: 'N', about, ...wholeNumber(min, max) })

/** A flag for a seed. @param {string} about */
export const seedFlag = (about) => numberFlag(about, 0, 2 ** 32 - 1)

/** A flag for a time. @param {string} about */
export const durationFlag = (about) => {
  return { value: 'TIME', about, parse: duration, expected: 'a time such as 500ms, 10s or 2m' }
}

/** `500ms`, `10s`, `2m` -> milliseconds. @param {string} text */
export function duration(text) {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text)
  const ms = match ? Number(match[1]) * MS_PER_UNIT[match[2]] : 0
  return ms > 0 && ms <= 24 * 3_600_000 ? ms : undefined
}

/** A flag's `parse` and `expected` for `1000,2000` -> [1000, 2000]. @param {number} min @param {number} max */
export function wholeNumbers(min, max) {
  const one = wholeNumber(min, max).parse
  return {
    parse: (/** @type {string} */ text) => {
      const numbers = text.split(',').map(one)
      return numbers.includes(undefined) ? undefined : /** @type {number[]} */ (numbers)
    },
    expected: `whole numbers from ${min} to ${max}, such as ${Math.min(max, 1000)},${Math.min(max, 2000)}`,
  }
}

/** @param {number} min @param {number} max */
export function wholeNumber(min, max) {
  return {
    parse: (/** @type {string} */ text) => {
      const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
    expected: `a whole number from ${min} to ${max}`,
  }
}

/** A flag's `parse` and `expected` for names with commas between them, each taken once. @param {readonly string[]} names */
export function someOf(names) {
  return {
    parse: (/** @type {string} */ text) => {
      const given = [...new Set(text.split(','))]
      return given.every((name) => names.includes(name)) ? given : undefined
    },
    expected: `some of ${names.join(',')}`,
  }
}

/** @param {string[]} values */
export function oneOf(values) {
  return {
    parse: (/** @type {string} */ text) => (values.includes(text) ? text : undefined),
    expected: `one of ${values.join(', ')}`,
  }
}

/** `Name: value` -> [name, value], as HTTP has them. @param {string} text @returns {[string, string] | undefined} */
export function header(text) {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(text)
  return match ? [match[1], match[2].trim()] : undefined
}

/** @param {string} title one line and an empty one @param {Record<string, Flag>} flags @param {string} examples */
export function helpText(title, flags, examples) {
  const rows = Object.entries(flags).map(([name, { value, about }]) => {
    return `  ${`--${name}${value ? ` ${value}` : ''}`.padEnd(22)} ${about}`
  })
  return `${title}\n\nFlags:\n${rows.join('\n')}\n\nExamples:\n${examples}\n`
}
