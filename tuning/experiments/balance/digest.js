import tdigest from 'tdigest'

/** @import { Seen } from './adaptive.js' */

/**
 * Latencies as a T-Digest (Dunning & Ertl, "Computing Extremely Accurate Quantiles Using t-Digests"), by the package
 * `tdigest`: quantiles of any number of samples in a memory that stays small.
 */
export class Latencies {
  #digest = new tdigest.TDigest()
  #samples = 0

  /** @param {number} latency_ms @returns {Seen} */
  add(latency_ms) {
    this.#digest.push(latency_ms)
    this.#samples++
    const [median_ms, p95_ms] = this.#digest.percentile([0.5, 0.95])
    return { samples: this.#samples, median_ms, p95_ms }
  }
}
