import { readFileSync, statSync } from 'node:fs'
import { keptUrl } from './credentials.js'
import { takeVariable, verifiesServers } from './environment.js'
import { UsageError } from './errors.js'

/** @import { Flag } from './flags.js' */

/** Reference to a secret that is stored elsewhere: `Bearer {{env API_TOKEN}}`, `{{file token.txt}}`. A run keeps only the reference. */
const REFERENCE = /\{\{\s*(env|file)\s+([^{}]+)\}\}/g
const MAX_BYTES = 64 * 1024
/** Describes references in help texts. */
export const REFERENCES = '{{env NAME}} or {{file PATH}}'

/**
 * Replaces the references in a text with the secrets.
 * @param {string} flag for messages, without dashes @param {string} text
 * @param {(secret: string, at: number) => string} [put] transforms a secret before its insertion; at: position in the text
 * @throws {UsageError} if the variable or the file is missing, or holds more than one line; if there is another `{{`
 */
export function resolveText(flag, text, put = (secret) => secret) {
  // A misspelt reference would be sent literally.
  if (text.replace(REFERENCE, '').includes('{{')) {
    throw new UsageError(`--${flag}: expected {{ to begin ${REFERENCES}, got another {{`)
  }
  return text.replace(REFERENCE, (_, kind, name, at) => {
    const secret = kind === 'env' ? variable(flag, name.trim()) : contents(flag, name.trim())
    if (!secret.includes('\n')) return put(secret, at)
    throw new UsageError(`--${flag}: expected a single line in {{${kind} ${name.trim()}}}, got several`)
  })
}

/**
 * Replaces the references in a URL: escapes secrets in its query; a secret in place of the address is already a URL.
 * @param {string} flag @param {string} text @throws {UsageError} also if Node would not verify the server's certificate
 */
export function resolveUrl(flag, text) {
  const query = text.indexOf('?')
  const full = resolveText(flag, text, (secret, at) =>
    query !== -1 && at > query ? encodeURIComponent(secret) : secret,
  )
  if (!verifiesServers() && /^https:/i.test(full)) {
    const instead = 'NODE_EXTRA_CA_CERTS=FILE makes Node trust an authority of your own'
    throw new UsageError(`--${flag}: expected NODE_TLS_REJECT_UNAUTHORIZED unset with https, got 0: ${instead}`)
  }
  return full
}

/**
 * A flag for the URL of a service, which is normalised unless it refers to a secret.
 * @param {string} name @param {string} about
 * @returns {Flag & { parse: (text: string) => string | undefined }} parse throws UsageError if the secret is missing
 */
export function urlFlag(name, about) {
  return {
    value: 'URL',
    about,
    shown: keptUrl,
    expected: `an http:// or https:// URL without user and password (give --header "Authorization: …"), or ${REFERENCES}`,
    parse: (text) => {
      const full = resolveUrl(name, text)
      if (!URL.canParse(full)) return undefined
      const { protocol, username, password, port, href } = new URL(full)
      if (!/^https?:$/.test(protocol) || username || password) return undefined
      // Node's clients would take it for the scheme's own port, and load another service than the one named.
      if (port === '0') throw new UsageError(`--${name}: expected a port from 1 to 65535, got 0`)
      return text.search(REFERENCE) === -1 ? href : text
    },
  }
}

/** Warns about each secret file in a text that users other than its owner may read. @param {string} text */
export function exposedFiles(text) {
  return [...text.matchAll(REFERENCE)].flatMap(([, kind, name]) => {
    const mode = kind === 'file' ? statSync(name.trim()).mode & 0o777 : 0
    if ((mode & 0o077) === 0) return []
    return [`${name.trim()} holds a secret and others may read it (mode ${mode.toString(8)}): chmod 600 ${name.trim()}`]
  })
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
    const found = statSync(file)
    // It is read again when the run begins, and a pipe can be read only once.
    if (!found.isFile()) throw new UsageError(`--${flag}: expected a regular file with the secret, got ${file}`)
    const { size } = found
    if (size > MAX_BYTES) throw new UsageError(`--${flag}: expected ${file} to hold one secret, got ${size} bytes`)
    const text = readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    if (text === '') throw new UsageError(`--${flag}: expected a secret in ${file}, got an empty file`)
    return text
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`--${flag}: expected a readable file, got ${/** @type {Error} */ (error).message}`)
  }
}
