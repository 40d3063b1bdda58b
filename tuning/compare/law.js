import { generatorShare, isFullShare } from '../generator-share.js'
import { isRefused, latencyTrials } from './steps.js'
import { fitLaw } from './usl.js'

/**
 * How the rate of a side grows with concurrency, from the trials in which nothing was refused and the generator had time.
 *
 * @param {Pick<import('./steps.js').ComparePlan, 'concurrency'>} plan
 * @param {import('./steps.js').Records} records
 * @param {import('./steps.js').Name} name
 * @returns {{ law: import('./usl.js').Law | null, points: { concurrency: number, rps: number }[] }}
 */
export function lawOf({ concurrency }, records, name) {
  const points = concurrency.flatMap((workers) =>
    latencyTrials(records, name, workers)
      .filter((record) => !isRefused(record) && !isFullShare(generatorShare(record)))
      .map(({ traffic }) => ({ concurrency: workers, rps: traffic.goodput_rps })),
  )
  return { law: fitLaw(points.filter(({ rps }) => rps > 0)), points }
}
