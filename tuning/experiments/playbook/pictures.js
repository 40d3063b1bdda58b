import { figureOf } from '../../stats/picture-values.js'
import { CLAIMS } from './claims.js'
import { verdictsText } from './tables.js'
import { resultOf } from './verdict.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Records } from './steps.js'
 */

/** Of what moves by more, the picture would show nothing else. */
const MOST_RATIO = 100

/**
 * The claims beside each other.
 *
 * @param {any} run
 * @param {Records} records
 * @returns {Picture[]}
 */
export function playbookPictures(run, records) {
  const results = claimsOf(run).map((claim) => resultOf(claim, records))
  const known = results.filter(({ effect }) => effect.ratio > 1 / MOST_RATIO && effect.ratio < MOST_RATIO)
  if (known.length === 0) return []
  const kinds = /** @type {const} */ (['reproduced', 'undecided', 'refuted'])
  return [
    {
      name: 'claims',
      title: 'What each claim came to',
      about:
        'The ratio of what is turned to how it was, with its interval, by the verdict on the claim. Ratios beyond a hundredfold are in the table alone.',
      form: {
        kind: 'dots',
        x: { title: 'ratio', unit: 'ratio', log: true },
        labels: known.map(({ claim }) => claim.id),
        series: kinds.flatMap((kind) =>
          known.some(({ verdict }) => verdict === kind)
            ? [{ name: kind, values: known.map(({ verdict, effect }) => (verdict === kind ? figureOf(effect) : null)) }]
            : [],
        ),
        reference: 1,
      },
    },
  ]
}

/** @param {any} run @param {Records} records */
export function playbookSentence(run, records) {
  return `${run.problem ? `No trustworthy answer: ${run.problem}. ` : ''}${verdictsText(records, claimsOf(run))}`
}

/** @param {any} run */
function claimsOf({ plan }) {
  return CLAIMS.filter(({ id }) => (plan.claims ?? CLAIMS.map((claim) => claim.id)).includes(id))
}
