/** Replaces a secret in all messages and files. */
export const WITHHELD = '(withheld)'

/** Headers whose values may appear in messages and files. Any other header may carry a secret, whatever its name. */
const HARMLESS = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding'],
  ...['content-language', 'content-type', 'expect', 'origin', 'pragma', 'prefer', 'priority', 'range', 'te'],
  ...['upgrade-insecure-requests', 'user-agent', 'x-requested-with'],
])

/** A reference to a secret, or a blank of a template. */
const BLANK = String.raw`\{\{\s*(?:(?:env|file)\s+[^{}]+|seq|word|int -?\d+ -?\d+|(?:data|taken) [\w.-]+)\s*\}\}`
const BLANK_ALONE = new RegExp(`^${BLANK}$`)
const SCHEME_AND_BLANK = new RegExp(`^(?:(?:basic|bearer|token|apikey) +)?${BLANK}$`, 'i')

/** Redacts a header in the form `Name: value`. @param {string} text */
export function keptHeader(text) {
  const [, name, value = ''] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? []
  return name ? `${name}: ${keptValue(name, value)}` : WITHHELD
}

/** Redacts a URL: withholds user, password and query values, and drops the fragment. @param {string} text */
export function keptUrl(text) {
  const [address] = text.split(/[?#]/)
  const query = /\?([^#]*)/s.exec(text)?.[1]
  const url = /^https?:\/\//i.test(text) && URL.canParse(text) ? new URL(text) : null
  // A password with a ? or # in it ends the address before its @.
  const isCut = !address.includes('@') && /^\w+:\/\/[^/?#{}]*[?#].*@/s.test(text) && (!url || url.hash.includes('@'))
  if (isCut) return text.replace(/^(\w+:\/\/).*@([^?#]*).*$/s, `$1${WITHHELD}@$2`)
  const isClean = !address.includes('@') || (url?.username === '' && url.password === '')
  const shown = isClean ? address : address.replace(/^(\w+:\/\/|).*@/s, `$1${WITHHELD}@`)
  return query === undefined ? shown : `${shown}?${query.split('&').map(keptPair).join('&')}`
}

/** Redacts the URL of a database. @param {string} text */
export function keptDatabaseUrl(text) {
  return `${/^\w+:\/\//.exec(text)?.[0] ?? ''}${WITHHELD}`
}

/** @param {string} pair from a query */
function keptPair(pair) {
  const [, name, value] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
  if (name === undefined) return pair === '' ? '' : WITHHELD
  return value === '' || BLANK_ALONE.test(value) ? pair : `${name}=${WITHHELD}`
}

/** Redacts the value of a header. @param {string} name @param {string} value */
export function keptValue(name, value) {
  return HARMLESS.has(name.toLowerCase()) || SCHEME_AND_BLANK.test(value) ? value : WITHHELD
}
