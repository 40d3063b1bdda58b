import { generatorShare, isFullShare } from '../../stats/generator-share.js'
import { fitLaw } from '../../stats/usl.js'
import { isRefused, latencyTrials } from './steps.js'

/**
 * @import { Law } from '../../stats/usl.js'
 * @import { ComparePlan, Name, Records } from './steps.js'
 */

/**
 * How the rate of a side grows with concurrency, from the trials in which nothing was refused and the generator had time.
 *
 * @param {Pick<ComparePlan, 'concurrency'>} plan
 * @param {Records} records
 * @param {Name} name
 * @returns {{ law: Law | null, points: { concurrency: number, rps: number }[] }}
 */
export function lawOf({ concurrency }, records, name) {
  const points = concurrency.flatMap((workers) =>
    latencyTrials(records, name, workers)
      .filter((record) => !isRefused(record) && !isFullShare(generatorShare(record)))
      .map(({ traffic }) => ({ concurrency: workers, rps: traffic.goodput_rps })),
  )
  return { law: fitLaw(points.filter(({ rps }) => rps > 0)), points }
}
