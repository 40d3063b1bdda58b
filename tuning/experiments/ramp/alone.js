import { namesIn } from '../../../load/generators/template.js'

/** @import { Entry, MixPlan } from '../../../load/report/record.js' */

/**
 * Share of the requests that give an entry the values that it takes from their responses. Without them, it could not be sent; with
 * fewer, it would ask for the same few values again and again, which a service may have cached.
 */
const GIVING_RATIO = 0.01

/**
 * The mix of one entry alone, and, if it takes values from other entries' responses, a few requests of those.
 * @param {MixPlan} mix @param {Entry} entry of the mix @returns {MixPlan}
 */
export function aloneMix(mix, entry) {
  const givers = giversOf(entry, mix.entries ?? [])
  const weight = (entry.weight * GIVING_RATIO) / Math.max(1, givers.length)
  return { ...mix, name: entry.name, entries: [entry, ...givers.map((giver) => ({ ...giver, weight }))] }
}

/** The entries from whose responses an entry takes values, directly or not. @param {Entry} entry @param {Entry[]} entries @returns {Entry[]} */
export function giversOf(entry, entries) {
  const texts = [entry.path, entry.body, ...Object.values(entry.headers ?? {})]
  const needs = texts.flatMap((text) => namesIn(text, 'taken'))
  const direct = entries.filter(({ take = {} }) => needs.some((name) => Object.hasOwn(take, name)))
  // A mix has no entries that wait for each other in a circle: its file is checked for that.
  return [...new Set(direct.flatMap((giver) => [giver, ...giversOf(giver, entries)]))]
}
