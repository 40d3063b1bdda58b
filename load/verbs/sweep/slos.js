import { drawn, titled } from '../../report/blocks.js'
import { NONE, ratesText } from '../../report/format.js'
import { sloText } from '../../report/slo.js'

/**
 * @import { Block } from '../../report/blocks.js'
 * @import { Picture, Value } from '../../report/picture.js'
 * @import { SloCapacity } from '../../report/record.js'
 * @import { SweepFindings } from './sweep.js'
 */

const ABOUT = 'Capacity by SLO: the same trials, judged by each.'

/** The capacity by each SLO, if there are several. @param {Pick<SweepFindings, 'capacities'>} findings @returns {Block[]} */
export function sloBlocks({ capacities = [] }) {
  const rows = capacities.map((one) => {
    const { slo, trials, confidence, problem } = one
    const rates = isKnown(one) ? ratesText(one) : NONE
    return [sloText(slo), rates, confidence?.toFixed(2) ?? NONE, String(trials), problem ?? NONE]
  })
  const table = titled(ABOUT, ['SLO', 'capacity', 'confidence', 'trials', 'problem'], rows)
  return capacities.some(isKnown) ? [...table, drawn(pictureOf(capacities))] : table
}

/** @param {SloCapacity} capacity */
function isKnown({ low_rps, high_rps }) {
  return low_rps !== null || high_rps !== null
}

/** @param {SloCapacity[]} capacities @returns {Picture} */
function pictureOf(capacities) {
  const values = capacities.map((one) => (isKnown(one) ? middleOf(one) : null))
  const x = /** @type {const} */ ({ title: 'requests per second', unit: 'rate', min: 0 })
  const form = /** @type {const} */ ({ kind: 'dots', x, labels: capacities.map(({ slo }) => sloText(slo)) })
  const about = 'The middle of each interval, and its ends where both are known.'
  return { name: 'slos', title: 'Capacity by SLO', about, form: { ...form, series: [{ name: 'capacity', values }] } }
}

/** @param {SloCapacity} capacity with at least one end @returns {Value} */
function middleOf({ low_rps, high_rps }) {
  if (low_rps === null || high_rps === null) return { value: Number(low_rps ?? high_rps) }
  return { value: (low_rps + high_rps) / 2, low: low_rps, high: high_rps }
}
