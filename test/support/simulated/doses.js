import { normal, seededRandom } from '../../../load/system/random.js'

/** @import { Dose, Slice } from '../../../load/report/record.js' */

const TICK_MS = 25
const RATE_RPS = 10_000

/**
 * What a proof's trial records of a service whose throughput follows known elasticities.
 * @param {Slice[]} slices @param {(slice: Slice) => number} elasticityOf
 * @param {{ noise?: number, taken_ratio?: number, seed?: number, slice_ms?: number }} [options] noise: standard deviation of
 *   ln(throughput) of a slice; taken_ratio: what a dose really takes
 */
export function dosed(slices, elasticityOf, { noise = 0.01, taken_ratio = 0.12, seed = 1, slice_ms = 1000 } = {}) {
  const random = seededRandom(seed)
  const doses = slices.map((slice, i) => {
    const from_ms = 1e6 + i * slice_ms
    return { ...slice, taken_ratio: slice.share > 0 ? taken_ratio : 0, from_ms, to_ms: from_ms + slice_ms }
  })
  const ok = doses.flatMap((dose) => {
    const rate_rps = RATE_RPS * (1 - dose.taken_ratio) ** elasticityOf(dose) * Math.exp(noise * normal(random))
    return Array(slice_ms / TICK_MS).fill((rate_rps * TICK_MS) / 1000)
  })
  return { doses, ticks: { start_ms: 1e6, tick_ms: TICK_MS, ok } }
}
