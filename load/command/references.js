import { readFileSync, statSync } from 'node:fs'
import { takeVariable } from './environment.js'
import { UsageError } from './errors.js'

/**
 * References in the text of a flag to a secret that is kept elsewhere: `Bearer {{env API_TOKEN}}`, `{{file token.txt}}`.
 * A run keeps the reference and never the secret.
 */
const REFERENCE = /\{\{\s*(env|file)\s+([^{}]+)\}\}/g

const MAX_BYTES = 64 * 1024

/** For help texts. */
export const REFERENCES = '{{env NAME}} or {{file PATH}}'

/** @param {string} text */
export function hasReference(text) {
  return text.search(REFERENCE) !== -1
}

/**
 * The text with its secrets in place.
 *
 * @param {string} flag for messages, without dashes
 * @param {string} text
 * @returns {string}
 * @throws {UsageError} if the variable or the file is missing, or holds more than one line; if there is another `{{`
 */
export function resolveText(flag, text) {
  refuseOtherBlanks(flag, text)
  return text.replace(REFERENCE, (_, kind, name) => secretOf(flag, kind, name.trim()))
}

/**
 * The same in a URL. A secret in the query is escaped there; one that stands for the address is a URL already.
 *
 * @param {string} flag
 * @param {string} text
 * @returns {string}
 * @throws {UsageError}
 */
export function resolveUrl(flag, text) {
  refuseOtherBlanks(flag, text)
  const query = text.indexOf('?')
  return text.replace(REFERENCE, (_, kind, name, at) => {
    const secret = secretOf(flag, kind, name.trim())
    return query !== -1 && at > query ? encodeURIComponent(secret) : secret
  })
}

/**
 * The files in a text that others than their owner may read.
 *
 * @param {string} text
 * @returns {string[]} a warning for each
 */
export function exposedFiles(text) {
  return [...text.matchAll(REFERENCE)].flatMap(([, kind, name]) => {
    const mode = kind === 'file' ? statSync(name.trim()).mode & 0o777 : 0
    if ((mode & 0o077) === 0) return []
    return [`${name.trim()} holds a secret and others may read it (mode ${mode.toString(8)}): chmod 600 ${name.trim()}`]
  })
}

/** A misspelt reference would be sent as it is. @param {string} flag @param {string} text which may hold a secret */
function refuseOtherBlanks(flag, text) {
  if (!text.replace(REFERENCE, '').includes('{{')) return
  throw new UsageError(`--${flag}: expected {{ to begin ${REFERENCES}, got another {{`)
}

/** @param {string} flag @param {string} kind @param {string} name */
function secretOf(flag, kind, name) {
  const secret = kind === 'env' ? variable(flag, name) : contents(flag, name)
  if (!secret.includes('\n')) return secret
  throw new UsageError(`--${flag}: expected a single line in {{${kind} ${name}}}, got several`)
}

/** @param {string} flag @param {string} name */
function variable(flag, name) {
  const value = takeVariable(name)
  if (value) return value
  const found = value === undefined ? 'none' : 'an empty one'
  throw new UsageError(`--${flag}: expected an environment variable ${name}, got ${found}: export ${name} first`)
}

/** @param {string} flag @param {string} file */
function contents(flag, file) {
  try {
    const { size } = statSync(file)
    if (size > MAX_BYTES) throw new UsageError(`--${flag}: expected ${file} to hold one secret, got ${size} bytes`)
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (text !== '') return text
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`--${flag}: expected a readable file, got ${/** @type {Error} */ (error).message}`)
  }
  throw new UsageError(`--${flag}: expected a secret in ${file}, got an empty file`)
}
