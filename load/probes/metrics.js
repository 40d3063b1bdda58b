/**
 * Pages in Prometheus' text format, of services that we do not trust: a page may be huge, slow or hostile, and costs the lab
 * a bounded amount of time and memory all the same.
 */

const PAGE_MAX_BYTES = 4 * 1024 * 1024
const REDIRECTS_MAX = 3

/** Bounds one line of a metric that is wanted, and the number of such lines. Other lines are skipped. */
const LINE_MAX_CHARS = 16 * 1024
const SERIES_MAX = 1000
const NAME_MAX_CHARS = 200

/** Each of them goes on where the last one ended, so that a line takes linear time. */
const LABEL = /[ \t]*([a-zA-Z_]\w*)[ \t]*=[ \t]*"([^"\\]*(?:\\.[^"\\]*)*)"[ \t]*(,|(?=\}))/y
const VALUE = /[ \t]*(\S{1,40})(?:[ \t]+-?\d{1,20})?[ \t\r]*$/y

/**
 * @param {string} url
 * @param {string[]} names of the metrics that are wanted; nothing is kept of others
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

/**
 * Follows redirects on the same host only: the load has been allowed no other.
 *
 * @param {string} url
 * @param {AbortSignal} signal
 */
async function answerOf(url, signal) {
  let at = url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects++) {
    const answer = await fetch(at, { signal, redirect: 'manual', headers: { 'Accept-Encoding': 'identity' } })
    if (answer.ok) return answer
    await answer.body?.cancel()
    const location = answer.headers.get('location')
    if (answer.status < 300 || answer.status > 399 || !location) throw new Error(`expected 200, got ${answer.status}`)
    const next = new URL(location, at)
    const isOwn = next.origin === new URL(url).origin
    if (!isOwn) throw new Error(`expected a page of this host, got a redirect to ${next.origin}`)
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
 * @param {string} text
 * @param {string[]} names
 * @returns {Metrics} which keeps nothing of the text
 */
export function parseMetrics(text, names) {
  const wanted = new Map(names.map((name) => [name, /** @type {Map<string, Series>} */ (new Map())]))
  let left = SERIES_MAX
  for (let at = 0; at < text.length; ) {
    const end = text.indexOf('\n', at) === -1 ? text.length : text.indexOf('\n', at)
    const series = wanted.get(nameAt(text, at, end))
    const parsed = series && end - at <= LINE_MAX_CHARS ? seriesOf(text.slice(at, end)) : null
    if (parsed) {
      if (left-- === 0) throw new Error(`expected at most ${SERIES_MAX} lines of the metrics that are read, got more`)
      series?.set(JSON.stringify(parsed.labels), parsed)
    }
    at = end + 1
  }
  const of = (/** @type {string} */ name) => [...(wanted.get(name)?.values() ?? [])]
  return {
    sum: (name) => {
      const values = of(name).map(({ value }) => value)
      return values.length === 0 ? null : finiteOrNull(values.reduce((sum, value) => sum + value))
    },
    by: (name, label) => Object.fromEntries(of(name).map(({ labels, value }) => [labels[label] ?? '', value])),
    labels: (name) => of(name)[0]?.labels ?? {},
  }
}

/** @param {string} text @param {number} start @param {number} end */
function nameAt(text, start, end) {
  const last = Math.min(end, start + NAME_MAX_CHARS)
  let at = start
  while (at < last && !'{ \t'.includes(text[at])) at++
  return text.slice(start, at)
}

/** @param {string} line @returns {Series | null} null: malformed, or not a number that can be used */
function seriesOf(line) {
  const brace = line.indexOf('{')
  /** @type {[string, string][]} */
  const labels = []
  let at = brace === -1 ? line.search(/[ \t]/) : brace + 1
  if (at === -1) return null
  while (brace !== -1 && line[at] !== '}') {
    LABEL.lastIndex = at
    const [found, name, value] = LABEL.exec(line) ?? []
    if (found === undefined) return null
    labels.push([copied(name), copied(unescaped(value))])
    at += found.length
  }
  VALUE.lastIndex = brace === -1 ? at : at + 1
  const [, value] = VALUE.exec(line) ?? []
  const number = Number(value)
  return Number.isFinite(number) && number >= 0 ? { labels: Object.fromEntries(labels), value: number } : null
}

/** @param {string} value of a label */
function unescaped(value) {
  return value.replace(/\\(.)/g, (_, char) => (char === 'n' ? '\n' : char))
}

/** V8 keeps a whole text for the sake of a part of it. @param {string} part */
function copied(part) {
  return Buffer.from(part).toString()
}

/** @param {number} value */
function finiteOrNull(value) {
  return Number.isFinite(value) ? value : null
}

/**
 * @typedef {{ labels: Record<string, string>, value: number }} Series
 *
 * @typedef {object} Metrics one look at a page
 * @property {(name: string) => number | null} sum over all labels; null: there is no such metric
 * @property {(name: string, label: string) => Record<string, number>} by values of one label
 * @property {(name: string) => Record<string, string>} labels of its first series
 */
