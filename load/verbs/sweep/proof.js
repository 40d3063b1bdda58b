import { DOSE, proofText, undosedTexts } from '../../report/proof.js'
import { nearCapacity } from './answer.js'
import { boundText, costsOf } from './costs.js'

/**
 * @import { Item } from '../../report/blocks.js'
 * @import { Elasticity } from '../../report/record.js'
 * @import { SweepFindings } from './sweep.js'
 */

/** The proof in sentences, and a forecast of the gain from less work. @param {SweepFindings} findings @returns {Item[]} */
export function proofItems(findings) {
  const { elasticities = [], limit, records } = findings
  const text = proofText(findings)
  if (text === null) return []
  const own = elasticities.find(({ resource, factor }) => resource === limit?.resource && !factor)
  const items = [...(own && limit?.confirmed ? [forecast(findings, own)] : []), ...undosedTexts(records)]
  return [{ text, items }]
}

/** Improvements to forecast, by resource, if not less work per request on a suspect. @type {Record<string, string>} */
const CHEAPER = {
  'generator-cpu': 'a generator that is 10 % cheaper',
  'postgres-commit': 'a flush that takes 10 % less time',
}

/** The gain from less work, and the core that would be the next limit. @param {SweepFindings} findings @param {Elasticity} own of the limit */
function forecast({ capacity, records, elasticities = [] }, { suspect, resource, elasticity }) {
  const gain = Math.round(((1 - DOSE) ** -elasticity - 1) * 100)
  const own = elasticities.filter((one) => one.resource === resource)
  const cores = costsOf(nearCapacity(capacity, records)).filter((cost) => cost.resource.startsWith('core '))
  const next = cores.find((cost) => !own.some((one) => one.suspect === cost.resource))
  const then = next
    ? `; the next core to be full would be ${next.resource}, at about ${boundText(next.own_us, 2)}/s`
    : ''
  const work = CHEAPER[resource] ?? `10 % less work per request on ${suspect}`
  return `Forecast: ${work} gains up to ${gain} %${then}.`
}
