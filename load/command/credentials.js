/**
 * @typedef {{ path: string, body: string }} Entry
 * @typedef {{ headers: [string, string][], body_base64: string | null, source?: object, entries?: Entry[] }} Mix of a plan
 */

/** Replaces a secret in everything that is written down. */
const WITHHELD = '(withheld)'

/** Headers whose values are written down. Any other may carry a secret, whatever its name. */
const HARMLESS = new Set([
  ...['accept', 'accept-charset', 'accept-encoding', 'accept-language', 'cache-control', 'content-encoding'],
  ...['content-language', 'content-type', 'expect', 'origin', 'pragma', 'prefer', 'priority', 'range', 'te'],
  ...['upgrade-insecure-requests', 'user-agent', 'x-requested-with'],
])

/** A reference to a secret, or a blank of a template. */
const BLANK = String.raw`\{\{\s*(?:(?:env|file)\s+[^{}]+|seq|word|int -?\d+ -?\d+)\s*\}\}`
const BLANK_ALONE = new RegExp(`^${BLANK}$`)
const SCHEME_AND_BLANK = new RegExp(`^(?:(?:basic|bearer|token|apikey) +)?${BLANK}$`, 'i')

/**
 * A plan as it is kept in run.json, and comes back from there: without values of headers and queries, and without bodies.
 * References to secrets stay, so that a run can go on.
 *
 * @template {{ mix: Mix }} P
 * @param {P} plan
 * @returns {P}
 */
export function keptPlan(plan) {
  const { url, metrics_url, sides, without, mix } = /** @type {any} */ (plan)
  const kept = {
    ...plan,
    mix: keptMix(mix),
    ...(url && { url: keptUrl(url) }),
    ...(metrics_url && { metrics_url: keptUrl(metrics_url) }),
    ...(without && { without: without.map(keptEntry) }),
    ...(sides && { sides: Object.fromEntries(Object.entries(sides).map(keptSide)) }),
  }
  return JSON.parse(JSON.stringify(kept))
}

/** Whether a kept plan lacks something that only its command line held. @param {object} plan */
export function lacksCredentials(plan) {
  return JSON.stringify(plan).includes(WITHHELD)
}

/** `Name: value` as it may be written down. @param {string} text */
export function keptHeader(text) {
  const [, name, value = ''] = /^([^:\s]+):\s*(.*)$/s.exec(text) ?? []
  return name ? `${name}: ${keptValue(name, value)}` : WITHHELD
}

/**
 * A URL as it may be written down: without user, password and fragment, and with the names of its query alone.
 *
 * @param {string} text
 */
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

/** @param {[string, any]} entry */
function keptSide([name, side]) {
  return [name, side.url ? { ...side, url: keptUrl(side.url) } : side]
}

/** @param {string} pair of a query */
function keptPair(pair) {
  const [, name, value] = /^([^=]*)=(.*)$/s.exec(pair) ?? []
  if (name === undefined) return pair === '' ? '' : WITHHELD
  return value === '' || BLANK_ALONE.test(value) ? pair : `${name}=${WITHHELD}`
}

/** @param {string} name @param {string} value */
function keptValue(name, value) {
  return HARMLESS.has(name.toLowerCase()) || SCHEME_AND_BLANK.test(value) ? value : WITHHELD
}

/** @param {Mix} mix */
function keptMix({ body_base64, entries, ...mix }) {
  const headers = mix.headers.map(([name, value]) => [name, keptValue(name, value)])
  const body = mix.source && !entries ? {} : { body_base64 }
  return { ...mix, headers, ...body, ...(entries && { entries: entries.map(keptEntry) }) }
}

/** @param {Entry} entry */
function keptEntry({ body, path, ...entry }) {
  return { ...entry, path: keptUrl(path), body_bytes: Buffer.byteLength(body) }
}
