import { casesOf } from './table.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Records } from './table.js'
 */

/**
 * How often each fault was named right.
 *
 * @param {any} _
 * @param {Records} records
 * @returns {Picture[]}
 */
export function faultsPictures(_, records) {
  const cases = casesOf(records)
  if (cases.length === 0) return []
  const names = [...new Set(cases.map(({ fault }) => fault.name))]
  const counts = names.map((name) => {
    const own = cases.filter(({ fault }) => fault.name === name)
    const right = own.filter((one) => one.right).length
    const second = own.filter(
      ({ fault, planted, right: isRight }) => !isRight && planted.limit.runner_up === fault.resource,
    )
    return { right, second: second.length, wrong: own.length - right - second.length }
  })
  const text = (/** @type {number} */ number, /** @type {number} */ score) =>
    number === 0 ? null : { score, text: String(number) }
  return [
    {
      name: 'named',
      title: 'Planted, and what was named',
      about: 'How many times each fault was planted and named as the limit, as the runner-up only, or not at all.',
      form: {
        kind: 'heat',
        corner: 'fault',
        rows: names,
        columns: ['named', 'runner-up', 'not named'],
        cells: counts.map(({ right, second, wrong }) => [text(right, 1), text(second, -0.4), text(wrong, -1)]),
      },
    },
  ]
}

/** @param {any} run @param {Records} records */
export function faultsSentence({ problem }, records) {
  const cases = casesOf(records)
  const right = cases.filter((one) => one.right).length
  return `${right} of ${cases.length} planted faults were named right.${problem ? ` Not right: ${problem}.` : ''}`
}
