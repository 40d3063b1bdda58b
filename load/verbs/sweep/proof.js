import { drawn, heading, paragraph } from '../../report/blocks.js'
import { count } from '../../report/format.js'
import { ledgerOf } from '../../verdict/ledger.js'
import { median } from '../../verdict/ranks.js'
import { nearCapacity } from './answer.js'

/**
 * @import { Block, Item } from '../../report/blocks.js'
 * @import { Elasticity } from '../../report/record.js'
 * @import { SweepFindings } from './sweep.js'
 */

/** The dose that sentences speak of. */
const DOSE = 0.1

/** What each dose cost, and what less work would gain, in sentences. @param {SweepFindings} findings @returns {Item[]} */
export function proofItems(findings) {
  const { elasticities = [], limit, records } = findings
  if (elasticities.length === 0) return []
  const costs = elasticities.map((one) => {
    const { estimate, low, high } = costOf(one)
    const interval = low === null || high === null ? '' : ` [${low}–${high}]`
    const change = one.factor ? `${one.suspect} gains` : `slowing ${one.suspect} by ${DOSE * 100} % costs`
    return `${change} ${estimate} %${interval}`
  })
  const undosed = records
    .flatMap(({ doses = [] }) => doses)
    .filter(({ share, taken_ratio }) => share > 0 && taken_ratio === 0)
    .map(({ suspect }) => suspect)
  const missing = [...new Set(undosed)].map((suspect) => `Not slowed: ${suspect}, whose processes we may not stop.`)
  const [first] = elasticities
  const isLimit = limit?.confirmed === true && first.resource === limit.resource && !first.factor
  return [
    {
      text: `Proof, in throughput: ${costs.join('; ')}.`,
      items: [...(isLimit ? [forecast(findings, first)] : []), ...missing],
    },
  ]
}

/** @param {SweepFindings} findings @param {Elasticity} first */
function forecast({ capacity, records, elasticities = [] }, { suspect, resource, elasticity }) {
  const gain = Math.round(((1 - DOSE) ** -elasticity - 1) * 100)
  const entries = nearCapacity(capacity, records).flatMap((record) => ledgerOf(record))
  const others = [...new Set(entries.map((entry) => entry.resource))]
    .filter(
      (name) =>
        name.startsWith('core ') && !elasticities.some((one) => one.suspect === name && one.resource === resource),
    )
    .map((name) => ({
      name,
      bound_rps: median(entries.filter((entry) => entry.resource === name).map((entry) => entry.bound_rps)),
    }))
    .sort((a, b) => a.bound_rps - b.bound_rps)
  const next = others[0]
    ? `; ${others[0].name} would be saturated at about ${count(Number(others[0].bound_rps.toPrecision(2)))}/s`
    : ''
  const work =
    resource === 'generator-cpu' ? 'a generator that is 10 % cheaper' : `10 % less work per request on ${suspect}`
  return `Forecast: ${work} gains ${gain} %${next}.`
}

/** Percent of the throughput that the dose costs, or that the enlarged pool gains. @param {Elasticity} elasticity */
function costOf({ elasticity, low, high, factor }) {
  const percent = (/** @type {number | null} */ value) => {
    if (value === null) return null
    return Math.round((factor ? factor ** value - 1 : 1 - (1 - DOSE) ** value) * 100)
  }
  return { estimate: percent(elasticity), low: percent(low), high: percent(high) }
}

/** The elasticities as bars. @param {SweepFindings} findings @returns {Block[]} */
export function proofBlocks({ elasticities = [] }) {
  if (elasticities.length === 0) return []
  const values = elasticities.map(({ elasticity, low, high }) => {
    return low === null || high === null ? { value: elasticity } : { value: elasticity, low, high }
  })
  const about = `Elasticity of the throughput with respect to each suspect's speed: about 1 for the bottleneck, about 0 for a resource with time to spare. ${elasticities[0].pairs} pairs of neighbouring slices, one of each pair slowed; 95 % intervals by ranks.`
  return [
    heading('Proof by dose', { detail: true }),
    paragraph(about),
    drawn({
      name: 'elasticities',
      title: 'What moves the throughput',
      about,
      form: {
        kind: 'dots',
        x: { title: 'elasticity', unit: 'number' },
        labels: elasticities.map(({ suspect }) => suspect),
        series: [{ name: 'elasticity', values }],
        reference: 0,
        bars: true,
      },
    }),
  ]
}
