/**
 * Pages in Prometheus' text format, of services that we do not trust: a page may be huge, slow or hostile, and costs the lab
 * a bounded amount of time and memory all the same.
 */

const PAGE_MAX_BYTES = 4 * 1024 * 1024
const REDIRECTS_MAX = 3

/** Bounds the labels of one series, and the number of series. Other lines are skipped. */
const LABELS_MAX_CHARS = 16 * 1024
const SERIES_MAX = 1000

/** Each label goes on where the last one ended, so that a line takes linear time. */
const LABEL = /[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(?:,|$)/gy
const LABELS = `\\{([^\\n]{0,${LABELS_MAX_CHARS}})\\}`
const VALUE = '[ \\t]*(\\S{1,40})(?:[ \\t]+-?\\d{1,20})?[ \\t\\r]*'

/**
 * @param {string} url @param {string[]} names of the metrics that are wanted; nothing is kept of others
 * @param {number} timeout_ms for all of it, redirects and body included
 * @returns {Promise<Metrics>}
 * @throws {Error} whose message says what is wrong with the page (missing, late, too large) and never quotes the URL, which
 *   may hold a secret
 */
export async function readMetrics(url, names, timeout_ms) {
  const signal = AbortSignal.timeout(timeout_ms)
  try {
    return parseMetrics(await textOf(await answerOf(url, signal)), names)
  } catch (error) {
    const late = `expected the whole page within ${timeout_ms / 1000} s`
    throw new Error(`the metrics page: ${signal.aborted ? late : withoutUrl(error)}`)
  }
}

/** Messages of fetch and of the resolver may quote the URL or its host. @param {any} error @returns {string} */
function withoutUrl({ message, cause }) {
  if (cause) return `expected an answer, got ${cause.code ?? 'a broken one'}`
  return message.startsWith('expected') ? message : 'expected a URL that can be fetched, got another one'
}

/** Follows redirects on the same host only: the load has been allowed no other. @param {string} url @param {AbortSignal} signal */
async function answerOf(url, signal) {
  let at = url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const answer = await fetch(at, { signal, redirect: 'manual', headers: { 'Accept-Encoding': 'identity' } })
    if (answer.ok) return answer
    await answer.body?.cancel()
    const location = answer.headers.get('location')
    if (answer.status < 300 || answer.status > 399 || !location) throw new Error(`expected 200, got ${answer.status}`)
    const next = new URL(location, at)
    if (next.origin !== new URL(url).origin)
      throw new Error(`expected a page of this host, got a redirect to ${next.origin}`)
    at = next.href
  }
  throw new Error(`expected at most ${REDIRECTS_MAX} redirects, got more`)
}

/** Bytes are counted after they have been decompressed. @param {Response} answer */
async function textOf(answer) {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  // Leaving the loop cancels the rest.
  for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (answer.body ?? [])) {
    bytes += chunk.length
    if (bytes > PAGE_MAX_BYTES)
      throw new Error(`expected a page of at most ${PAGE_MAX_BYTES / 1024 / 1024} MB, got more`)
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

/**
 * In linear time. A value that is not finite or is negative counts as absent, since none of ours can be either; of two
 * lines for one series the last counts.
 *
 * @param {string} text @param {string[]} names
 *
 * @typedef {ReturnType<typeof parseMetrics>} Metrics one look at a page, which keeps nothing of its text
 */
export function parseMetrics(text, names) {
  const wanted = new Map(names.map((name) => [name, /** @type {Map<string, Series>} */ (new Map())]))
  const lines = new RegExp(`(?<![^\\n])(${names.join('|')})(?:${LABELS}|(?=[ \\t]))${VALUE}(?![^\\n])`, 'g')
  let left = SERIES_MAX
  for (const [, name, inBraces = '', digits] of text.matchAll(lines)) {
    const labels = labelsOf(inBraces)
    const value = Number(digits)
    if (!labels || !Number.isFinite(value) || value < 0) continue
    if (left-- === 0) throw new Error(`expected at most ${SERIES_MAX} lines of the metrics that are read, got more`)
    const key = JSON.stringify(labels)
    // A copy: V8 keeps a whole text for the sake of a part of it.
    wanted.get(name)?.set(key, { labels: JSON.parse(key), value })
  }
  const of = (/** @type {string} */ name) => [...(wanted.get(name)?.values() ?? [])]
  return {
    /** Over all labels; null: there is no such metric. @param {string} name */
    sum: (name) => {
      const sum = of(name).reduce((/** @type {number | null} */ all, { value }) => (all ?? 0) + value, null)
      return Number.isFinite(sum) ? sum : null
    },
    /** By values of one label. @param {string} name @param {string} label @returns {Record<string, number>} */
    by: (name, label) => Object.fromEntries(of(name).map(({ labels, value }) => [labels[label] ?? '', value])),
    /** Labels of its first series. @param {string} name */
    labels: (name) => of(name)[0]?.labels ?? {},
  }
}

/** @typedef {{ labels: Record<string, string>, value: number }} Series */

/** @param {string} text in the braces @returns {Record<string, string> | null} null: malformed */
function labelsOf(text) {
  const found = [...text.matchAll(LABEL)]
  if (found.reduce((length, [label]) => length + label.length, 0) < text.length) return null
  const unescaped = (/** @type {string} */ value) => value.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
  return Object.fromEntries(found.map(([, name, value]) => [name, unescaped(value)]))
}
