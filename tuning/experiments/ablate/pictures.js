import { figureOf } from '../../stats/picture-values.js'
import { currenciesOf } from './budget.js'
import { budgetsOf } from './tables.js'
import { conclusionsOf } from './verdict.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Records } from './steps.js'
 */

/**
 * The budgets as bars.
 *
 * @param {any} run
 * @param {Records} records
 * @returns {Picture[]}
 */
export function ablatePictures({ plan }, records) {
  const budgets = budgetsOf(plan, records)
  return currenciesOf(plan).flatMap(([name, { title }]) => {
    const { lines, rest, whole } = budgets[name]
    if (!Number.isFinite(whole.estimate)) return []
    return [
      {
        name: `budget-${name}`,
        title: `Where a request's budget goes: ${title}`,
        about: `What each stage costs, with its interval, of ${Math.round(whole.estimate)} us in all. With the rest they add up to the whole.`,
        form: /** @type {const} */ ({
          kind: 'dots',
          bars: true,
          x: { title: 'us per request', unit: 'us', min: lowEnd([...lines.map(({ cost }) => cost), rest]) },
          labels: [...lines.map(({ stage }) => stage), 'the rest'],
          series: [{ name: 'cost', values: [...lines.map(({ cost }) => figureOf(cost)), figureOf(rest)] }],
          reference: 0,
        }),
      },
    ]
  })
}

/** Noise makes some costs less than nothing. @param {{ estimate: number, low: number }[]} figures */
function lowEnd(figures) {
  const ends = figures.flatMap(({ estimate, low }) => [estimate, low].filter((end) => Number.isFinite(end)))
  const least = Math.min(0, ...ends)
  return least < 0 ? Math.floor((least * 1.05) / 10) * 10 : 0
}

/** @param {any} run @param {Records} records */
export function ablateSentence({ plan, problem }, records) {
  const [first] = conclusionsOf(plan, records, budgetsOf(plan, records))
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${first.replace(/; not settled.*|; the rest \(.*/, '.')}`
}
