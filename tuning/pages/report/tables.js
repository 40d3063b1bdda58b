import { answer, drawn, heading, list, paragraph, table } from '../../../load/report/blocks.js'
import { count, NONE, ratesText } from '../../../load/report/format.js'
import { conditionsOf } from '../../../load/run/conditions.js'
import { CONFIDENCE, digits } from '../../stats/effects.js'
import { otherDifferences } from './conditions.js'
import { MEASURES } from './figures.js'
import { capacityPictures, ratioPictures } from './pictures.js'

/**
 * @import { Compared, Ratio } from './figures.js'
 * @import { Source } from './report.js'
 */

/** A report of runs side by side. @param {Source[]} sources @param {Compared} compared @param {string | null} difference of machines */
export function besideBlocks(sources, compared, difference) {
  const { capacities, figures } = compared
  const names = sources.map(({ name }) => name)
  const different = otherDifferences(sources)
  return [
    answer(sentence(sources, compared, difference)),
    list(sources.map(runLine)),
    ...(capacities ? [...capacityPictures(sources).map(drawn), capacityTable(sources, capacities)] : []),
    heading('Figures'),
    ...ratioPictures(sources, compared).map(drawn),
    figures.length > 0
      ? figuresTable(sources, compared)
      : paragraph('The runs have no trials with the same cell and the same load.'),
    ...(different.length > 0 ? [heading('Other differences'), table(['', ...names], different)] : []),
    heading('How it was measured', { folded: true }),
    list([
      `Medians of the valid trials with the same cell and load in all runs; ratios to ${names[0]} with ${CONFIDENCE * 100} % intervals, by ranks (Hodges-Lehmann, Wilcoxon, Mann and Whitney), which need four trials in each run. Tied: the interval contains 1.`,
      'Where nothing differs, one interval in twenty still misses 1: among many figures, some will.',
      'Capacities are compared by the ends of their intervals: they are tied if these overlap.',
      'The runs were made one after the other, so the ratios include whatever changed on the machine between them; `npm run compare` and `npm run tune` alternate instead.',
    ]),
    heading('Where', { folded: true }),
    list(sources.map(({ name, run }) => ({ text: `${name}:`, items: conditionsOf(run) }))),
  ]
}

/** @param {Source[]} sources @param {Compared} compared @param {string | null} difference of machines */
function sentence(sources, { capacities, figures }, difference) {
  const [first, ...others] = sources
  const parts = others.map(({ name }, i) => {
    const capacity = capacities?.[i]
    if (capacity) return capacitySentence(name, first.name, capacity)
    const verdicts = figures.map(({ ratios }) => ratios[i].verdict)
    if (verdicts.length === 0) return `${name} and ${first.name} have no trials with the same cell and load.`
    const number = (/** @type {Ratio['verdict']} */ verdict) => verdicts.filter((one) => one === verdict).length
    return `${name} compared with ${first.name}, in ${verdicts.length} figures: ${number('better')} better, ${number('worse')} worse, ${number('tied')} tied, ${number('too few trials')} with too few trials to tell.`
  })
  return [...(difference ? [`Across machines: ${difference}.`] : []), ...parts].join(' ')
}

/** @param {string} name @param {string} reference @param {Ratio} ratio */
function capacitySentence(name, reference, { low, high, verdict }) {
  if (verdict === 'tied') return `The capacities of ${name} and ${reference} are tied: their intervals overlap.`
  const range = Number.isFinite(high) ? `${digits(low)}x to ${digits(high)}x` : `at least ${digits(low)}x`
  return `${name} takes ${range} of what ${reference} takes.`
}

/** @param {Source} source */
function runLine({ name, folder, run, records }) {
  const problem = run.problem ? `; no trustworthy answer: ${run.problem}` : ''
  const cut = run.interrupted ? '; interrupted' : ''
  return `${name}: ${run.run_id} in \`${folder.replaceAll('`', "'")}\`, ${count(records.length)} trials${cut}${problem}`
}

/** @param {Source[]} sources @param {NonNullable<Compared['capacities']>} ratios */
function capacityTable(sources, ratios) {
  const rows = sources.map(({ name, run }, i) => [
    name,
    run.capacity ? ratesText(run.capacity) : NONE,
    run.limit?.resource ?? NONE,
    i === 0 ? '1' : ratioCell(ratios[i - 1]),
  ])
  return table(['run', 'capacity', 'limit', `to ${sources[0].name}`], rows)
}

/** @param {Source[]} sources @param {Compared} compared */
function figuresTable(sources, { figures }) {
  const [first, ...others] = sources.map(({ name }) => name)
  const rows = figures.map(({ group, measure, medians, trials, ratios }) => [
    group,
    MEASURES[measure].title,
    valueText(medians[0], trials[0]),
    ...ratios.flatMap((ratio, i) => [valueText(medians[i + 1], trials[i + 1]), ratioCell(ratio)]),
  ])
  return table(['load', 'figure', first, ...others.flatMap((name) => [name, `${name} to ${first}`])], rows)
}

/** @param {number} value @param {number} trials */
function valueText(value, trials) {
  return `${value >= 100 ? count(Math.round(value)) : Number(value.toPrecision(3))} (${trials})`
}

/** `0.71x [0.66–0.75], worse` @param {Ratio | null} ratio */
function ratioCell(ratio) {
  if (!ratio) return NONE
  const { low, high, verdict } = ratio
  const ends = Number.isFinite(high) ? `${digits(low)}–${digits(high)}` : `at least ${digits(low)}`
  return `${digits(ratio.ratio)}x${Number.isNaN(low) ? '' : ` [${ends}]`}, ${verdict}`
}
