import { mainEffects, noiseOf, ratioOf, ratioText } from '../../stats/effects.js'
import { figureOf } from '../../stats/picture-values.js'
import { observationsOf, RESPONSES } from './observations.js'
import { anchorCapacity } from './steps.js'
import { effectSentence } from './tables.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Response } from './observations.js'
 * @import { Matrix, Records } from './steps.js'
 */

/** A factor of this, for the better or the worse, has the deepest colour. */
const DEEPEST_RATIO = 2

/**
 * What a matrix looks like: its cells beside the anchor, and what each knob does.
 *
 * @param {any} run
 * @param {Records} records
 * @returns {Picture[]}
 */
export function tunePictures({ plan }, records) {
  if (anchorCapacity(plan, records) === null) return []
  const effects = Object.entries(RESPONSES).map(([name, response]) => effectsPicture(name, response, plan, records))
  return [cellsPicture(plan, records), ...effects].filter((picture) => picture !== null)
}

/** @param {any} run @param {Records} records */
export function tuneSentence(run, records) {
  const { plan, problem } = run
  if (problem) return `No trustworthy answer: ${problem}.`
  const observations = observationsOf(RESPONSES.goodput, records)
  const noise = noiseOf(observations)
  const moving = plan.knobs.flatMap((/** @type {Matrix['knobs'][0]} */ knob) => {
    const found = mainEffects(observations, knob, noise).filter(({ tied }) => !tied)
    return found.length > 0 ? [effectSentence(knob, found, RESPONSES.goodput.better)] : []
  })
  if (moving.length === 0) return 'No knob moves the goodput further than two visits to the same cell differ.'
  return `What moves the goodput: ${moving.join('. ')}.`
}

/** @param {any} plan @param {Records} records @returns {Picture | null} */
function cellsPicture({ cells, anchor }, records) {
  const columns = Object.values(RESPONSES).map((response) => {
    const observations = observationsOf(response, records)
    return { response, observations, noise: noiseOf(observations) }
  })
  const rows = cells.filter((/** @type {string} */ cell) => {
    return columns.some(({ observations }) => observations.some((one) => one.cell === cell))
  })
  if (rows.length === 0) return null
  return {
    name: 'cells',
    title: 'Cells beside the anchor',
    about: `Ratios to ${anchor}, within a block. Blue is better, orange is worse, pale is close to it.`,
    under: 'Cells',
    form: {
      kind: 'heat',
      corner: 'cell',
      rows,
      columns: ['goodput at 1.5x', 'p99 at 1.5x', 'CPU at 0.5x'],
      cells: rows.map((/** @type {string} */ cell) =>
        columns.map(({ response, observations, noise }) => {
          if (cell === anchor) return { score: 0, text: 'anchor' }
          const effect = ratioOf(observations, cell, anchor, noise)
          if (Number.isNaN(effect.ratio)) return null
          const score = Math.log(effect.ratio) / Math.log(DEEPEST_RATIO)
          return { score: response.better === 'more' ? score : -score, text: ratioText(effect).split(' ')[0] }
        }),
      ),
    },
  }
}

/** @param {string} name @param {Response} response @param {any} plan @param {Records} records @returns {Picture | null} */
function effectsPicture(name, response, plan, records) {
  const observations = observationsOf(response, records)
  const noise = noiseOf(observations)
  const effects = plan.knobs.flatMap((/** @type {Matrix['knobs'][0]} */ knob) =>
    mainEffects(observations, knob, noise).map((effect) => ({ ...effect, label: `${knob.name}=${effect.level}` })),
  )
  const known = effects.filter((/** @type {{ ratio: number }} */ { ratio }) => Number.isFinite(ratio))
  if (known.length === 0) return null
  return {
    name: `effects-${name}`,
    title: `Main effects: ${response.title}`,
    about: `The ratio to each knob's reference level, all else alike, with its interval; ${response.better} is better, and what holds 1 is tied.`,
    under: response.title,
    form: {
      kind: 'dots',
      x: { title: 'ratio to the reference level', unit: 'ratio', log: true },
      labels: known.map((/** @type {{ label: string }} */ { label }) => label),
      series: [{ name: 'ratio', values: known.map(figureOf) }],
      reference: 1,
    },
  }
}
