import { spreadOf } from '../../stats/picture-values.js'
import { conclusionsOf } from './conclusions.js'
import { GENERATORS, PUBLISHED, peakOf, trialsOf } from './steps.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Records } from './steps.js'
 */

/**
 * The article's table beside what the same settings do here.
 *
 * @param {any} _
 * @param {Records} records
 * @returns {Picture[]}
 */
export function articlePictures(_, records) {
  if (peakOf(records) === null) return []
  const measured = GENERATORS.map((generator) => ({
    name: generator === 'paced' ? 'here, bounded connections' : "here, vegeta's defaults",
    values: PUBLISHED.rows.map((/** @type {any} */ _row, /** @type {number} */ row) => {
      return spreadOf(trialsOf(records, row, generator).map(({ traffic }) => traffic.success_ratio))
    }),
  }))
  return [
    {
      name: 'success',
      title: 'Success ratio, published and here',
      about:
        'The same shares of the peak offered to the same settings; medians of the blocks, from the least to the most.',
      form: {
        kind: 'dots',
        x: { title: 'successes of the requests', unit: 'share', min: 0, max: 1 },
        labels: PUBLISHED.rows.map(
          (/** @type {any} */ { pool_max, nofile, connect_timeout_ms }, /** @type {number} */ i) => {
            return `${i + 1}: pool ${pool_max}, files ${nofile}, ${connect_timeout_ms / 1000} s`
          },
        ),
        series: [
          {
            name: 'published',
            values: PUBLISHED.rows.map((/** @type {any} */ { success_ratio }) => ({ value: success_ratio })),
          },
          ...measured,
        ],
      },
    },
  ]
}

/** @param {any} run @param {Records} records */
export function articleSentence(run, records) {
  if (run.problem) return `No trustworthy answer: ${run.problem}.`
  const conclusions = conclusionsOf(records)
  const kinds = [...new Set(conclusions.map(({ verdict }) => verdict))]
  const counts = kinds.map((kind) => `${conclusions.filter(({ verdict }) => verdict === kind).length} ${kind}`)
  return `Of ${conclusions.length} published conclusions: ${counts.join(', ')}.`
}
