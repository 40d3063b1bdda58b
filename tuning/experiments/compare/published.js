import { readFileSync } from 'node:fs'
import { heading, paragraph, table } from '../../../load/report/blocks.js'
import { count, milliseconds } from '../../../load/report/format.js'
import { sidesText } from '../../knobs/sides-text.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Side } from '../../knobs/sides.js'
 * @import { Difference } from './differences.js'
 * @import { CompareFindings } from './findings.js'
 */

export const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/compare.json', import.meta.url), 'utf8'))

/** The published figures, and the published conclusion next to ours. @param {CompareFindings} findings @returns {Block[]} */
export function publishedBlocks({ differences, plan }) {
  const { title, author, setting, latency, maximum } = PUBLISHED
  const rows = latency.flatMap((/** @type {any} */ level) =>
    ['a', 'b'].map((side) => {
      const { rps, mean_ms, p50_ms, p90_ms, p99_ms } = level[side]
      const times = [mean_ms, p50_ms, p90_ms, p99_ms].map(milliseconds)
      return [`${side.toUpperCase()}, ${level.concurrency}`, String(rps), ...times]
    }),
  )
  const rates = maximum.b.map((/** @type {any} */ { workers, rps }) => `${rps}/s at ${workers}`).join(', ')
  return [
    heading('Published', { detail: true }),
    table(['side, workers', 'req/s', 'mean', 'p50', 'p90', 'p99'], rows),
    paragraph(`"${title}" (${author}): ${setting}. Its maximum: A ${maximum.a.text}; B ${rates} workers.`),
    paragraph(misreadText()),
    paragraph(conclusionText(differences, plan.sides)),
  ]
}

/** Where the publication's text does not say what its own data say, and what it leaves out of the comparison. */
function misreadText() {
  const { maximum, response_bytes } = PUBLISHED
  const { b, b_text_rps, requests } = maximum
  const highest = b.reduce((/** @type {any} */ one, /** @type {any} */ other) => (other.rps > one.rps ? other : one))
  const { asked, answered, workers } = requests
  return `Its text gives about ${count(b_text_rps)}/s as B's maximum, where its own data say ${count(Math.round(highest.rps))}/s. At ${workers} workers it got ${count(answered)} responses where it asked for ${count(asked)}: hey gives each worker the same whole number of requests. Of response sizes, we know only that of A at one worker: ${count(response_bytes.a)} bytes.`
}

/**
 * The published conclusion and ours. If they differ, says why they may: two other services were compared there.
 * @param {Pick<Difference, 'because' | 'tied' | 'verdict'>[]} differences @param {Record<string, Side>} sides
 */
export function conclusionText(differences, sides) {
  const known = differences.filter(({ because }) => because === '')
  const apart = known.filter(({ tied }) => !tied)
  const better = apart.filter(({ verdict }) => verdict === 'B is better')
  const [those, these] = [PUBLISHED.compared, sidesText(sides)]
  const published = `It concludes that ${PUBLISHED.conclusion}.`
  if (better.length === differences.length) {
    return `${published} Here, too, B is better in all ${better.length} comparisons. The publication compared ${those}; this run compared ${these}.`
  }
  const counts = [
    { text: 'better in', number: better.length },
    { text: 'worse in', number: apart.length - better.length },
    { text: 'tied with A in', number: known.length - apart.length },
    { text: 'not compared in', number: differences.length - known.length },
  ]
  const parts = counts.filter(({ number }) => number > 0).map(({ text, number }) => `${text} ${number}`)
  return `${published} Of ${differences.length} comparisons here, B is ${parts.join(', ')}; the two conclusions need not agree: the publication compared ${those}; this run compared ${these}.`
}
