/** Stands for a secret in everything that is written down. */
export const WITHHELD = '(withheld)'

/** Headers whose values are written down. Any other may carry a secret, whatever its name. */
const HARMLESS = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding'],
  ...['content-language', 'content-type', 'expect', 'origin', 'pragma', 'prefer', 'priority', 'range', 'te'],
  ...['upgrade-insecure-requests', 'user-agent', 'x-requested-with'],
])

/** A reference to a secret, or a blank of a template. */
const BLANK = String.raw`\{\{\s*(?:(?:env|file)\s+[^{}]+|seq|word|int -?\d+ -?\d+|(?:data|taken) [\w.-]+)\s*\}\}`
const BLANK_ALONE = new RegExp(`^${BLANK}$`)
const SCHEME_AND_BLANK = new RegExp(`^(?:(?:basic|bearer|token|apikey) +)?${BLANK}$`, 'i')

/** `Name: value` as it may be written down. @param {string} text */
export function keptHeader(text) {
  const [, name, value = ''] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? []
  return name ? `${name}: ${keptValue(name, value)}` : WITHHELD
}

/** A URL as it may be written down: without user, password, fragment and the values of its query. @param {string} text */
export function keptUrl(text) {
  const [address] = text.split(/[?#]/)
  const query = /\?([^#]*)/s.exec(text)?.[1]
  const isUrl = /^https?:\/\//i.test(address) && URL.canParse(address)
  const isClean = !address.includes('@') || (isUrl && new URL(address).username === '')
  const shown = isClean ? address : address.replace(/^(\w+:\/\/|).*@/s, `$1${WITHHELD}@`)
  return query === undefined ? shown : `${shown}?${query.split('&').map(keptPair).join('&')}`
}

/** The URL of a database as it may be written down. @param {string} text */
export function keptDatabaseUrl(text) {
  return `${/^\w+:\/\//.exec(text)?.[0] ?? ''}${WITHHELD}`
}

/** @param {string} pair of a query */
function keptPair(pair) {
  const [, name, value] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
  if (name === undefined) return pair === '' ? '' : WITHHELD
  return value === '' || BLANK_ALONE.test(value) ? pair : `${name}=${WITHHELD}`
}

/** The value of a header as it may be written down. @param {string} name @param {string} value */
export function keptValue(name, value) {
  return HARMLESS.has(name.toLowerCase()) || SCHEME_AND_BLANK.test(value) ? value : WITHHELD
}
