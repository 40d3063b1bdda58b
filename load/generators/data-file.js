import Papa from 'papaparse'
import { UsageError } from '../command/errors.js'
import { readText } from './flag-file.js'
import { namesOf } from './template.js'

/** @import { Entry } from '../report/record.js' */

const MAX_BYTES = 16 << 20
const MAX_ROWS = 100_000

/**
 * Reads the columns of a CSV or NDJSON file that the entries of a mix refer to.
 * @param {Entry[]} entries @param {string | null} file @returns {Record<string, string[]>} columns of equal length, at least 1
 * @throws {UsageError}
 */
export function columnsFor(entries, file) {
  const names = namesOf(entries, 'data')
  if (file === null) {
    if (names.length === 0) return {}
    throw new UsageError(`--mix: expected --data FILE for {{data ${names[0]}}}, got none`)
  }
  const rows = rowsOf(file)
  return Object.fromEntries(names.map((name) => [name, rows.map((row, i) => cell(row, name, i))]))
}

/** @param {string} file @returns {Record<string, unknown>[]} */
function rowsOf(file) {
  const text = readText('data', file, MAX_BYTES)
  const rows = text.trimStart().startsWith('{') ? fromNdjson(text) : fromCsv(text)
  if (rows.length > 0 && rows.length <= MAX_ROWS) return rows
  throw new UsageError(`--data: expected 1 to ${MAX_ROWS} rows, got ${rows.length}`)
}

/** @param {string} text */
function fromNdjson(text) {
  return text.split('\n').flatMap((line, i) => {
    try {
      return line.trim() === '' ? [] : [JSON.parse(line)]
    } catch {
      throw new UsageError(`--data: expected a JSON object in line ${i + 1}, got something else`)
    }
  })
}

/** @param {string} text */
function fromCsv(text) {
  const { data, errors } = /** @type {Papa.ParseResult<Record<string, string>>} */ (
    Papa.parse(text, { header: true, skipEmptyLines: true })
  )
  // A file with a single column contains no delimiter to detect.
  const problem = errors.find(({ type }) => type !== 'Delimiter')
  if (!problem) return data
  // Papa's other errors count the header as a row.
  const row = (problem.row ?? 0) + (problem.type === 'FieldMismatch' ? 1 : 0)
  throw new UsageError(`--data: expected CSV with a header, got in row ${row}: ${problem.message}`)
}

/** @param {Record<string, unknown>} row @param {string} name @param {number} i */
function cell(row, name, i) {
  const value = Object.hasOwn(Object(row), name) ? row[name] : undefined
  const text = ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : null
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would end a header; half of a character fits into no URL
  if (text?.isWellFormed() && !/[\u0000-\u001f\u007f]/.test(text)) return text
  throw new UsageError(`--data: expected a text of one line or a number as ${name} of row ${i + 1}, got something else`)
}
