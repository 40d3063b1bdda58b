import { table } from '../../../load/report/blocks.js'
import { count, NONE } from '../../../load/report/format.js'
import { giversOf } from './alone.js'
import { cellsOf, knownResources } from './rungs.js'
import { intervalText, millionText } from './sentences.js'

/** @import { Climbed, RampFindings } from './findings.js' */

/** Each request of the mix alone at the ceiling, next to the whole mix; with its resources just below the ceiling. @param {RampFindings} findings */
export function eachTable({ plan, mains, work, each }) {
  const resources = knownResources([mains, ...each.map(({ series }) => series)].flat().flatMap(({ below }) => below))
  const hasPrices = Object.keys(plan.prices).length > 0
  const hasB = mains.length > 1
  /** @param {string} entry @param {Climbed} series @param {RampFindings['work']} ratio of B to A */
  const rowOf = (entry, series, ratio) => [
    `${series.side.toUpperCase()}: ${entry}`,
    Number.isFinite(series.workers) ? count(Math.round(series.workers)) : NONE,
    series.blocks > 0 ? `${series.bound.length > 0 ? 'at least ' : ''}${intervalText(series.rps)}` : NONE,
    ...(hasB ? [ratio && ratio.pairs > 0 ? `${intervalText(ratio, 2)}x` : NONE] : []),
    ...(hasPrices ? [millionText(series.per_million)] : []),
    ...cellsOf(resources, series.below),
  ]
  const groups = [{ entry: 'the whole mix', series: mains, work }, ...each]
  const rows = mains.flatMap((_, i) => {
    return groups.map((group) => rowOf(group.entry, group.series[i], i === 1 ? group.work : null))
  })
  const head = [
    ...['each request, to the ceiling', 'workers at the ceiling', 'requests/s at the ceiling'],
    ...(hasB ? ['B to A'] : []),
    ...(hasPrices ? ['per million requests'] : []),
    ...resources.map((resource) => resource.head),
  ]
  return table(head, rows, { name: 'each' })
}

/** How each request was measured. @param {RampFindings} findings */
export function eachMethod({ plan: { mix, ceiling_ms } }) {
  const { entries = [] } = mix
  const takers = entries.filter((entry) => giversOf(entry, entries).length > 0).map(({ name }) => name)
  const given =
    takers.length > 0 ? ` ${takers.join(', ')}: one request in a hundred gives the values that the others take.` : ''
  return `Each request of the mix also climbs on its own, in the same blocks, to the same ceiling (${ceiling_ms} ms); its resources are those of the last rung below the ceiling.${given}`
}
