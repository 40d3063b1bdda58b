import { DOSE, proofText, undosedTexts } from '../../report/proof.js'
import { nearCapacity } from './answer.js'
import { boundText, costsOf } from './costs.js'

/**
 * @import { Item } from '../../report/blocks.js'
 * @import { Elasticity } from '../../report/record.js'
 * @import { SweepFindings } from './sweep.js'
 */

/** The proof in sentences, and what less work would gain. @param {SweepFindings} findings @returns {Item[]} */
export function proofItems(findings) {
  const { elasticities = [], limit, records } = findings
  const text = proofText(findings)
  if (text === null) return []
  const [first] = elasticities
  const isLimit = limit?.confirmed === true && first.resource === limit.resource && !first.factor
  const items = [...(isLimit ? [forecast(findings, first)] : []), ...undosedTexts(records)]
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
