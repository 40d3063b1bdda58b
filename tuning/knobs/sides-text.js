/** @import { Side } from './sides.js' */

/**
 * Describes what was compared, for a sentence on why a published conclusion need not hold here.
 * @param {Record<string, Side>} sides A and B
 */
export function sidesText(sides) {
  const all = Object.values(sides)
  const isUrl = (/** @type {Side} */ { url }) => url !== null
  if (all.every(isUrl)) return 'two services that were already running, each behind a URL'
  if (all.some(isUrl)) return 'this API and a service that was already running'
  const [files, hosts] = [all.map(({ file }) => file), all.map(({ ssh }) => ssh?.host ?? null)]
  const what = new Set(files).size > 1 ? 'two configurations' : 'one configuration'
  return `${what} of one API on ${new Set(hosts).size > 1 ? 'two machines' : 'one machine'}`
}
