import { drawn, heading, paragraph } from '../../report/blocks.js'
import { nearCapacity } from './answer.js'
import { boundText, costsOf } from './costs.js'

/**
 * @import { Block, Item } from '../../report/blocks.js'
 * @import { Picture } from '../../report/picture.js'
 * @import { Elasticity } from '../../report/record.js'
 * @import { SweepFindings } from './sweep.js'
 */

/** The dose that sentences speak of. */
const DOSE = 0.1

/** What each dose cost; null: nothing was dosed. @param {Pick<SweepFindings, 'elasticities'>} findings */
export function proofText({ elasticities = [] }) {
  const costs = elasticities.map(({ suspect, elasticity, low, high, factor }) => {
    // What the dose costs, or what the larger pool gains.
    const percentOf = (/** @type {number} */ value) => {
      return Math.round((factor ? factor ** value - 1 : 1 - (1 - DOSE) ** value) * 100)
    }
    const interval = low === null || high === null ? '' : ` [${percentOf(low)}–${percentOf(high)}]`
    const change = factor ? `${suspect} gains` : `slowing ${suspect} by ${DOSE * 100} % costs`
    return `${change} ${percentOf(elasticity)} %${interval}`
  })
  return costs.length === 0 ? null : `Proof, in throughput: ${costs.join('; ')}.`
}

/** The proof in sentences, and what less work would gain. @param {SweepFindings} findings @returns {Item[]} */
export function proofItems(findings) {
  const { elasticities = [], limit, records } = findings
  const text = proofText(findings)
  if (text === null) return []
  const undosed = records
    .flatMap(({ doses = [] }) => doses)
    .filter(({ share, taken_ratio }) => share > 0 && taken_ratio === 0)
    .map(({ suspect }) => suspect)
  const missing = [...new Set(undosed)].map((suspect) => `Not slowed: ${suspect}, whose processes we may not stop.`)
  const [first] = elasticities
  const isLimit = limit?.confirmed === true && first.resource === limit.resource && !first.factor
  const items = [...(isLimit ? [forecast(findings, first)] : []), ...missing]
  return [{ text, items }]
}

/** What less work would gain, and which core would be the next limit. @param {SweepFindings} findings @param {Elasticity} first */
function forecast({ capacity, records, elasticities = [] }, { suspect, resource, elasticity }) {
  const gain = Math.round(((1 - DOSE) ** -elasticity - 1) * 100)
  const isOwn = (/** @type {string} */ name) =>
    elasticities.some((one) => one.suspect === name && one.resource === resource)
  const cores = costsOf(nearCapacity(capacity, records)).filter((cost) => cost.resource.startsWith('core '))
  const next = cores.find((cost) => !isOwn(cost.resource))
  const then = next ? `; ${next.resource} would be saturated at about ${boundText(next.demand_us, 2)}/s` : ''
  const isGenerator = resource === 'generator-cpu'
  const work = isGenerator ? 'a generator that is 10 % cheaper' : `10 % less work per request on ${suspect}`
  return `Forecast: ${work} gains ${gain} %${then}.`
}

/** The elasticities as bars; null: nothing was dosed. @param {Pick<SweepFindings, 'elasticities'>} findings @returns {Picture | null} */
export function proofPicture({ elasticities = [] }) {
  if (elasticities.length === 0) return null
  const values = elasticities.map(({ elasticity, low, high }) => {
    return low === null || high === null ? { value: elasticity } : { value: elasticity, low, high }
  })
  const least = Math.min(0, ...elasticities.flatMap(({ low }) => low ?? []))
  const pairs = Math.max(...elasticities.map((one) => one.pairs))
  return {
    name: 'elasticities',
    title: 'What moves the throughput',
    about: `Elasticity of the throughput with respect to each suspect's speed: about 1 for the bottleneck, about 0 for a resource with time to spare. ${pairs} pairs of neighbouring slices, one of each pair slowed; 95 % intervals by ranks.`,
    form: {
      kind: 'dots',
      x: { title: 'elasticity', unit: 'number', min: Math.floor(2 * least) / 2 },
      labels: elasticities.map(({ suspect }) => suspect),
      series: [{ name: 'elasticity', values }],
      reference: 0,
      bars: true,
    },
  }
}

/** @param {SweepFindings} findings @returns {Block[]} */
export function proofBlocks(findings) {
  const picture = proofPicture(findings)
  return picture ? [heading('Proof by dose', { detail: true }), paragraph(picture.about), drawn(picture)] : []
}
