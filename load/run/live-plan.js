import { keptUrl } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import { exposedFiles, resolveText, resolveUrl } from '../command/references.js'
import { readMixFile } from '../generators/mix-file.js'
import { bodyOf, sourceOf } from '../generators/mix-flags.js'

/** @import { Entry, MixPlan, Source } from '../report/record.js' */

/**
 * A plan that can be run: the secrets that it refers to are in it, and the bodies that a kept plan lacks. It must not be
 * written down.
 *
 * @template {{ mix: MixPlan }} P
 * @param {P} plan as the flags give it, or as run.json keeps it
 * @returns {P & { shown_url?: string }} shown_url: the URL as it may be written down
 * @throws {UsageError} if a secret or a file is missing, or a file has changed since the run began
 */
export function livePlan(plan) {
  const { url, metrics_url, sides, without, mix } = /** @type {any} */ (plan)
  const { source, entries } = mix
  const lacksBody = source && !entries && mix.body_base64 === undefined
  const lacksBodies = source && entries?.some((/** @type {Entry} */ { body }) => body === undefined)
  if (lacksBody || lacksBodies) refuseChanged(source)
  const found = lacksBodies ? new Map(readMixFile(source.file).map((entry) => [entry.name, entry])) : null
  const filled = (/** @type {Entry[]} */ kept) => kept.map((entry) => found?.get(entry.name) ?? entry)
  const live = (/** @type {[string, any]} */ [name, side]) => {
    return [name, side.url ? { ...side, url: resolveUrl(name, side.url), shown_url: keptUrl(side.url) } : side]
  }
  return {
    ...plan,
    mix: {
      ...mix,
      headers: mix.headers.map((/** @type {[string, string]} */ [name, value]) => [name, resolveText('header', value)]),
      ...(lacksBody && { body_base64: bodyOf(source.file).toString('base64') }),
      ...(entries && { entries: filled(entries) }),
    },
    ...(url && { url: resolveUrl('url', url), shown_url: keptUrl(url) }),
    ...(metrics_url && { metrics_url: resolveUrl('metrics-url', metrics_url) }),
    ...(without && { without: filled(without) }),
    ...(sides && { sides: Object.fromEntries(Object.entries(sides).map(live)) }),
  }
}

/** What is doubtful about the secrets of a plan. @param {{ mix: MixPlan }} plan @returns {string[]} */
export function secretWarnings(plan) {
  const { url, metrics_url, sides = {}, mix } = /** @type {any} */ (plan)
  const urls = [url, metrics_url, ...Object.values(sides).map((side) => side.url)].filter(Boolean)
  const values = mix.headers.map((/** @type {[string, string]} */ [, value]) => value)
  return [...new Set([...urls, ...values].flatMap(exposedFiles))]
}

/** @param {Source} source */
function refuseChanged(source) {
  const { file, bytes, modified_at } = sourceOf(source.flag, source.file)
  if (bytes === source.bytes && modified_at === source.modified_at) return
  throw new UsageError(
    `--resume: expected ${file} as the run began (${source.bytes} bytes of ${source.modified_at}), got ${bytes} bytes of ${modified_at}: restore it, or begin a new run`,
  )
}
