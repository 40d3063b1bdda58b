import { keptUrl, keptValue, WITHHELD } from '../command/credentials.js'
import { exposedFiles, resolveText, resolveUrl } from '../command/references.js'
import { columnsFor } from '../generators/data-file.js'
import { readMixFile } from '../generators/mix-file.js'
import { bodyOf } from '../generators/mix-flags.js'
import { refuseChanged } from '../generators/source.js'

/** @import { Entry, Header, MixPlan } from '../report/record.js' */

/**
 * A plan as run.json keeps it: without bodies, and without values of headers and queries that may be secret. References to
 * secrets stay, so that the run can be resumed.
 * @template {{ mix?: MixPlan }} P
 * @param {P} plan
 * @returns {P}
 */
export function keptPlan(plan) {
  const { source, entries, replay } = plan.mix ?? {}
  const kept = changed(plan, {
    url: (_, url) => ({ url: keptUrl(url) }),
    header: keptValue,
    entry: ({ body, path, headers, ...entry }) => ({
      ...entry,
      path: keptUrl(path),
      body_bytes: Buffer.byteLength(body),
    }),
    body: { ...(source && !entries && !replay && { body_base64: undefined }), data: undefined },
  })
  return JSON.parse(JSON.stringify({ ...kept, ...(kept.start && { start: WITHHELD }) }))
}

/** Whether a plan lacks what only its command line held; mix entries come from a file. @param {{ mix?: object, without?: unknown }} plan */
export function lacksCredentials({ mix, without, ...plan }) {
  return JSON.stringify({ ...plan, mix: { ...mix, entries: undefined } }).includes(WITHHELD)
}

/**
 * A plan that can be run: with the secrets that it refers to, and the bodies that a kept plan lacks. It must never be stored.
 * @template {{ mix?: MixPlan }} P
 * @param {P} plan from the flags, or as run.json keeps it
 * @returns {P & { shown_url?: string }} shown_url: the URL without secrets
 * @throws {UsageError} if a secret or a file is missing, or a file has changed since the run began
 */
export function livePlan(plan) {
  const { source, entries, body_base64, data_source, replay } = plan.mix ?? {}
  const lacksBody = source && !entries && body_base64 === undefined
  const lacksBodies = source && entries?.some(({ body }) => body === undefined)
  if (source && (lacksBody || lacksBodies || replay)) refuseChanged(source)
  const read = lacksBodies ? readMixFile(source.file) : null
  const found = read && new Map(read.map((entry) => [entry.name, entry]))
  if (read && data_source) refuseChanged(data_source)
  const data = read &&
    data_source && {
      data: columnsFor(/** @type {Entry[]} */ (entries?.map(({ name }) => found?.get(name))), data_source.file),
    }
  return changed(plan, {
    url: (flag, url) => ({ url: resolveUrl(flag, url), shown_url: keptUrl(url) }),
    header: (name, value) => resolveText(name === 'postgres-url' ? name : 'header', value),
    entry: (entry) => found?.get(entry.name) ?? entry,
    body: lacksBody ? { body_base64: bodyOf(source.file) } : { ...data },
  })
}

/**
 * Applies a change to every part of a plan that may hold a secret.
 * @param {any} plan
 * @param {{ url: (flag: string, url: string) => { url: string, shown_url?: string }, header: (name: string, value: string) => string,
 *   entry: (entry: Entry) => object, body: Partial<Pick<MixPlan, 'body_base64' | 'data'>> }} change
 */
function changed(plan, change) {
  const { url, metrics_url, postgres_url, sides, without, mix } = plan
  const side = (/** @type {[string, any]} */ [name, own]) => {
    return [name, own.url ? { ...own, ...change.url(name, own.url) } : own]
  }
  const header = (/** @type {Header} */ [name, value]) => [name, change.header(name, value)]
  const entries = mix?.entries && { entries: mix.entries.map(change.entry) }
  return {
    ...plan,
    ...(url && change.url('url', url)),
    ...(metrics_url && { metrics_url: change.url('metrics-url', metrics_url).url }),
    ...(postgres_url && { postgres_url: change.header('postgres-url', postgres_url) }),
    ...(sides && { sides: Object.fromEntries(Object.entries(sides).map(side)) }),
    ...(without && { without: without.map(change.entry) }),
    ...(mix && { mix: { ...mix, headers: mix.headers.map(header), ...change.body, ...entries } }),
  }
}

/** Warns of each secret that other users may read. @param {{ mix?: MixPlan }} plan @returns {string[]} */
export function secretWarnings(plan) {
  const { url, metrics_url, postgres_url, sides = {}, mix } = /** @type {any} */ (plan)
  const urls = [url, metrics_url, postgres_url, ...Object.values(sides).map((side) => side.url)].filter(Boolean)
  const values = mix?.headers.map((/** @type {Header} */ [, value]) => value) ?? []
  return [...new Set([...urls, ...values].flatMap(exposedFiles))]
}
