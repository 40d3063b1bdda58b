import { parseArgs } from 'node:util'
import { keptUrl } from './credentials.js'
import { UsageError } from './errors.js'

const MS_PER_UNIT = /** @type {Record<string, number>} */ ({ ms: 1, s: 1000, m: 60_000 })
const DURATION_MAX_M = 24 * 60

/**
 * @typedef {object} Flag
 * @property {string} value placeholder in the help, such as DURATION; empty for a switch
 * @property {string} about one line for the help
 * @property {(raw: string) => any} [parse] returns undefined for an unexpected value
 * @property {string} [expected] completes "expected …"
 * @property {boolean} [multiple] may be given more than once
 * @property {(raw: string) => string} [shown] the value without its secrets, for messages and files
 */

/**
 * Returns the values of the given flags, the operands, and the command line without secrets.
 * @param {Record<string, Flag>} flags @param {string[]} argv without program and verb @param {boolean} [allowPositionals]
 * @throws {UsageError}
 */
export function parseCommand(flags, argv, allowPositionals = false) {
  const { values, positionals, tokens } = parsedStrictly(flags, argv, allowPositionals)
  refuseRepeated(flags, tokens)
  const given = Object.entries(values).map(([name, raw]) => [name, readValue(name, flags[name], raw)])
  const shown = tokens.flatMap((token) => {
    if (token.kind !== 'option') return []
    const { name, rawName, value, inlineValue } = token
    if (value === undefined) return [rawName]
    const text = flags[name].shown?.(value) ?? value
    return inlineValue ? [`${rawName}=${text}`] : [rawName, text]
  })
  return { given: /** @type {Record<string, any>} */ (Object.fromEntries(given)), operands: positionals, shown }
}

/**
 * Refuses a list that is given more than once: all but the last would be ignored. Of other flags, the last one counts, so that a script
 * can have defaults.
 * @param {Record<string, Flag>} flags @param {{ kind: string, name?: string }[]} tokens
 */
function refuseRepeated(flags, tokens) {
  const names = tokens.flatMap(({ kind, name }) => (kind === 'option' && name !== undefined ? name : []))
  const repeated = names.find((name, i) => {
    return flags[name].value.includes(',') && !flags[name].multiple && names.indexOf(name) < i
  })
  if (repeated) throw new UsageError(`--${repeated}: expected one list (${flags[repeated].value}), got several`)
}

/** @param {Record<string, Flag>} flags @param {string[]} argv @param {boolean} allowPositionals */
function parsedStrictly(flags, argv, allowPositionals) {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, { value, multiple = false }]) => {
      return [name, { type: /** @type {'string' | 'boolean'} */ (value ? 'string' : 'boolean'), multiple }]
    }),
  )
  try {
    return parseArgs({ args: argv, options, allowPositionals, tokens: true })
  } catch (error) {
    const { tokens } = parseArgs({ args: argv, options, strict: false, tokens: true })
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL') {
      const hint = 'flags follow --, as in npm run VERB -- --flag; quote values that contain spaces'
      throw new UsageError(`expected only flags, got ${strayText(flags, tokens)} (${hint})`)
    }
    throw new UsageError(misuse(flags, /** @type {Token[]} */ (tokens.filter(({ kind }) => kind === 'option'))))
  }
}

/**
 * Quotes the first argument that is no flag, unless it may be part of an unquoted secret.
 * @param {Record<string, Flag>} flags @param {{ kind: string, name?: string, value?: string }[]} tokens
 */
function strayText(flags, tokens) {
  const at = tokens.findIndex(({ kind }) => kind === 'positional')
  const maySplitSecret = tokens.slice(0, at).some(({ name = '' }) => flags[name]?.shown)
  return maySplitSecret ? 'one argument too many' : JSON.stringify(keptUrl(String(tokens[at].value)))
}

/**
 * Describes the error of the first invalid flag. Echoes no value, since it may be a secret.
 * @param {Record<string, Flag>} flags @param {Token[]} given
 * @typedef {{ name: string, rawName: string, value?: string, inlineValue?: boolean }} Token
 */
function misuse(flags, given) {
  const unknown = given.find(({ name }) => !Object.hasOwn(flags, name))
  if (unknown) {
    const likely = likelyName(unknown.name, Object.keys(flags))
    const hint = likely ? `did you mean --${likely}? ` : ''
    return `expected a flag of this verb, got ${unknown.rawName}; ${hint}--help lists the flags`
  }
  const filled = given.find(({ name, value }) => flags[name].value === '' && value !== undefined)
  if (filled) return `--${filled.name}: expected no value, got one`
  const isMisread = (/** @type {Token} */ { value = '', inlineValue }) =>
    value === '' || (value[0] === '-' && !inlineValue)
  const name = String(given.find((token) => flags[token.name].value !== '' && isMisread(token))?.name)
  return `--${name}: expected ${flags[name]?.value}, got nothing or another flag (a value that begins with - is written --${name}=-…)`
}

/** Returns the flag or verb that was probably meant; undefined: none is similar. @param {string} unknown @param {string[]} names */
export function likelyName(unknown, names) {
  const mostEdits = Math.max(1, Math.floor(unknown.length / 3))
  const similar = names.map((name) => ({ name, edits: editsBetween(unknown, name) })).sort((a, b) => a.edits - b.edits)
  if (similar[0]?.edits <= mostEdits) return similar[0].name
  return unknown.length < 3 ? undefined : names.find((name) => name.includes(unknown))
}

/** Counts letters to insert, delete, replace or swap with a neighbour (optimal string alignment). @param {string} a @param {string} b */
function editsBetween(a, b) {
  const edits = Array.from({ length: a.length + 1 }, (_, i) => [i, ...Array(b.length).fill(0)])
  edits[0] = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    for (let j = 1; j <= b.length; j++) {
      const replaced = edits[i - 1][j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swapped = isSwap ? edits[i - 2][j - 2] + 1 : replaced
      edits[i][j] = Math.min(edits[i - 1][j] + 1, edits[i][j - 1] + 1, replaced, swapped)
    }
  }
  return edits[a.length][b.length]
}

/** @param {string} name @param {Flag} flag @param {any} raw */
function readValue(name, { value, parse, shown, expected, multiple }, raw) {
  if (!parse && [raw].flat().includes('')) {
    throw new UsageError(`--${name}: expected ${value}, got an empty string (is a variable unset?)`)
  }
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

/** A flag without a value. @param {string} about */
export const switchFlag = (about) => ({ value: '', about })

/** A flag for the number of blocks. @param {string} once what each block does once, such as `fault is planted` @param {number} usual */
export const blocksFlag = (once, usual) => {
  return numberFlag(`blocks, in each of which every ${once} once (default ${usual})`, 1, 100)
}

/** A flag for a seed. @param {string} about */
export const seedFlag = (about) => numberFlag(about, 0, 2 ** 32 - 1)

/** A flag for a percentage, 0 to 100. @param {string} about */
export const percentFlag = (about) => ({
  ...{ value: 'PERCENT', about, expected: 'a percentage such as 2 or 0.5%' },
  parse: (/** @type {string} */ text) => (/^(\d{1,2}(\.\d+)?|100)%?$/.test(text) ? Number.parseFloat(text) : undefined),
})

/** A flag for a time. @param {string} about */
export const durationFlag = (about) => ({
  ...{ value: 'TIME', about, parse: duration },
  expected: `a time above 0 and up to ${DURATION_MAX_M}m, such as 500ms, 10s or 2m`,
})

/** Converts `500ms`, `10s` or `2m` to milliseconds. @param {string} text */
export function duration(text) {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text)
  const ms = match ? Number(match[1]) * MS_PER_UNIT[match[2]] : 0
  return ms > 0 && ms <= DURATION_MAX_M * MS_PER_UNIT.m ? ms : undefined
}

/** Converts a percentage above 0 to a ratio: `99.9` -> 0.999. @param {string} text */
export function ratioOfPercent(text) {
  const percent = /^\d{1,3}(\.\d{1,6})?$/.test(text) ? Number(text) : Number.NaN
  // 99.9 / 100 is a little more than 0.999, which 999 of 1000 would miss.
  return percent > 0 && percent <= 100 ? Number((percent / 100).toFixed(8)) : undefined
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

/** A flag's `parse` and `expected` for comma-separated names; duplicates are dropped. @param {readonly string[]} names */
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

/** Parses an HTTP header: `Name: value` -> [name, value]. @param {string} text @returns {[string, string] | undefined} */
export function header(text) {
  const match = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)$/.exec(text)
  return match ? [match[1], match[2].trim()] : undefined
}

/** @param {string} title text above the flags @param {Record<string, Flag>} flags @param {string} examples */
export function helpText(title, flags, examples) {
  const rows = Object.entries(flags).map(([name, { value, about }]) => {
    return `  ${`--${name}${value ? ` ${value}` : ''}`.padEnd(22)} ${about}`
  })
  return `${title}\n\nFlags:\n${rows.join('\n')}\n\nExamples:\n${examples}\n`
}
