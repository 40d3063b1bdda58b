/**
 * Reads pages in Prometheus' text format from untrusted services. Even a huge, slow or hostile page costs the lab a bounded
 * amount of time and memory.
 */

const PAGE_MAX_BYTES = 4 * 1024 * 1024
const REDIRECTS_MAX = 3
/** Bounds on the labels of one series and the number of series. Lines with longer labels are skipped. */
const LABELS_MAX_CHARS = 16 * 1024
const SERIES_MAX = 1000

/** Sticky: each match starts where the last one ended, so parsing a line takes linear time. */
const LABEL = /[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(?:,|$)/gy
const LABELS = `\\{([^\\n]{0,${LABELS_MAX_CHARS}})\\}`
const VALUE = '[ \\t]*(\\S{1,40})(?:[ \\t]+-?\\d{1,20})?[ \\t\\r]*'

/**
 * @param {string} url @param {string[]} names metrics to keep; all others are dropped
 * @param {number} timeout_ms for the whole request, including redirects and body
 * @throws {Error} saying what is wrong with the page (missing, late, too large), without the URL, which may contain a secret
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

/** Hides messages of fetch and the resolver that may quote the URL or its host. @param {any} error @returns {string} */
function withoutUrl({ message, cause }) {
  if (cause) return `expected an answer, got ${cause.code ?? 'a broken one'}`
  return message.startsWith('expected') ? message : 'expected a URL that can be fetched, got another one'
}

/** Follows redirects within the same origin only: the user has permitted no other host. @param {string} url @param {AbortSignal} signal */
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

/** Limits the size of the page after decompression. @param {Response} answer */
async function textOf(answer) {
  const chunks = []
  let bytes = 0
  // Leaving the loop early cancels the body.
  for await (const chunk of /** @type {AsyncIterable<Uint8Array>} */ (answer.body ?? [])) {
    bytes += chunk.length
    if (bytes > PAGE_MAX_BYTES) throw new Error(`expected a page of at most ${PAGE_MAX_BYTES / 2 ** 20} MB, got more`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/**
 * Parses a page in linear time. Negative and non-finite values count as absent, since no metric of ours can have one. If a
 * series occurs twice, the last line counts.
 * @param {string} text @param {string[]} names
 * @typedef {ReturnType<typeof parseMetrics>} Metrics values of one page, without a reference to its text
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
    // Copy the labels: V8 keeps the whole text alive as long as a substring of it exists.
    wanted.get(name)?.set(key, { labels: JSON.parse(key), value })
  }
  const of = (/** @type {string} */ name) => [...(wanted.get(name)?.values() ?? [])]
  return {
    /** Sum over all labels; null if there is no such metric. @param {string} name */
    sum: (name) => {
      const sum = of(name).reduce((/** @type {number | null} */ all, { value }) => (all ?? 0) + value, null)
      return Number.isFinite(sum) ? sum : null
    },
    /** Values keyed by one label. @param {string} name @param {string} label @returns {Record<string, number>} */
    by: (name, label) => Object.fromEntries(of(name).map(({ labels, value }) => [labels[label] ?? '', value])),
    /** Labels of the metric's first series. @param {string} name */
    labels: (name) => of(name)[0]?.labels ?? {},
  }
}

/** @typedef {{ labels: Record<string, string>, value: number }} Series */

/** @param {string} text in the braces @returns {Record<string, string> | null} null if malformed */
function labelsOf(text) {
  const found = [...text.matchAll(LABEL)]
  if (found.reduce((length, [label]) => length + label.length, 0) < text.length) return null
  const unescaped = (/** @type {string} */ value) => value.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
  return Object.fromEntries(found.map(([, name, value]) => [name, unescaped(value)]))
}
