import { answer, heading, list, paragraph, table } from '../../../load/report/blocks.js'
import { count, ratesText, threeDigits } from '../../../load/report/format.js'
import { conditionsOf } from '../../../load/run/conditions.js'
import { CONFIDENCE, digits, intervalText } from '../../stats/effects.js'
import { besideSpeeds, otherDifferences } from './conditions.js'
import { MEASURES, trustedCapacity } from './figures.js'

/**
 * @import { Answer, Compared, capacityRatio, Figure, Ratio } from './figures.js'
 * @import { Source } from './report.js'
 */

/** A report of runs side by side. @param {Source[]} sources @param {Compared} compared @param {string | null} difference of the machines */
export function besideBlocks(sources, { answers, capacities, figures }, difference) {
  const names = sources.map(({ name }) => name)
  const [first, ...others] = names
  const different = otherDifferences(sources)
  const sentences = others.map((name, i) => sentence(name, first, i, { answers, capacities, figures }))
  return [
    answer(
      [difference ? `Across machines: ${difference}.` : [], ...sentences, besideSpeeds(sources) ?? []].flat().join(' '),
    ),
    list(sources.map((source, i) => runLine(source, answers[i]))),
    heading('Figures'),
    figures.length > 0
      ? figuresTable(names, figures)
      : paragraph('The runs have no trials with the same cell and the same load.'),
    ...(different.length > 0 ? [heading('Other differences'), table(['', ...names], different)] : []),
    heading('How it was measured', { folded: true }),
    list([
      `Medians of the valid trials with the same cell and load in all runs (where the offered rates differ, of the CPU only); ratios to ${first} with ${CONFIDENCE * 100} % intervals, by ranks (Hodges-Lehmann, Wilcoxon, Mann and Whitney), which need four trials in each run. Tied: the interval contains 1.`,
      'Where nothing differs, one interval in twenty still misses 1: among many figures, some will.',
      'Capacities are compared by the ends of their intervals: they are tied if these overlap.',
      'The runs were made one after the other, so the ratios include whatever changed on the machine between them; `npm run compare` and `npm run tune` alternate instead.',
    ]),
    heading('Machine and versions', { folded: true }),
    list(sources.map(({ name, run, records }) => ({ text: `${name}:`, items: conditionsOf(run, records) }))),
  ]
}

/** One run compared with the first. @param {string} name @param {string} first @param {number} i @param {Compared} compared */
function sentence(name, first, i, { answers, capacities, figures }) {
  const capacity = capacities?.[i]
  if (capacity) return capacityText(name, first, capacity)
  const numbers = ['better', 'worse', 'tied', 'too few trials'].map((verdict) => {
    return `${verdict} ${figures.filter(({ ratios }) => ratios[i].verdict === verdict).length}`
  })
  const counted = `${name} compared with ${first}, in ${figures.length} figures: ${numbers.join(', ')}.`
  if (!capacities) return counted
  const lacking = [first, name].filter((_, nth) => !trustedCapacity(answers[nth === 0 ? 0 : i + 1]))
  const why = `${lacking.join(' and ')} ${lacking.length > 1 ? 'have' : 'has'} no trustworthy answer`
  return `The capacities of ${name} and ${first} are not compared: ${why}. ${counted}`
}

/** @param {string} name @param {string} first @param {NonNullable<ReturnType<typeof capacityRatio>>} ratio */
function capacityText(name, first, { low, high, verdict }) {
  if (verdict === 'tied') return `The capacities of ${name} and ${first} are tied: their intervals overlap.`
  const bound = low > 0 ? `at least ${digits(low)}` : `at most ${digits(high)}`
  const times = low > 0 && Number.isFinite(high) ? `${digits(low)} to ${digits(high)}` : bound
  return `${name}'s capacity is ${times} times ${first}'s.`
}

/** @param {Source} source @param {Answer} answer */
function runLine({ name, folder, run, records }, { capacity, limit, problem }) {
  return [
    `${name}: ${run.run_id} in \`${folder.replaceAll('`', "'")}\`, ${count(records.length)} trials`,
    ...(capacity ? [`capacity ${ratesText(capacity)}, limit ${limit?.resource ?? 'unknown'}`] : []),
    ...(run.interrupted ? ['interrupted'] : []),
    ...(problem ? [`no trustworthy answer: ${problem}`] : []),
  ].join('; ')
}

/** @param {string[]} names @param {Figure[]} figures */
function figuresTable([first, ...others], figures) {
  const rows = figures.map(({ group, measure, medians, trials, ratios }) => {
    const [value, ...values] = medians.map((median, i) => `${threeDigits(median)} (${trials[i]})`)
    return [group, MEASURES[measure].title, value, ...ratios.flatMap((ratio, i) => [values[i], ratioCell(ratio)])]
  })
  return table(['load', 'figure', first, ...others.flatMap((name) => [name, `${name} to ${first}`])], rows)
}

/** `0.71x [0.66–0.75], worse` @param {Ratio} ratio */
function ratioCell({ ratio, low, high, verdict }) {
  return `${digits(ratio)}x${Number.isNaN(low) ? '' : ` [${intervalText({ low, high })}]`}, ${verdict}`
}
