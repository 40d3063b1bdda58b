import { fileURLToPath } from 'node:url'
import { undelayCommits } from '../../../sql/commit-delay.js'
import { startHelper } from './doser.js'

/**
 * @import { Database } from '../../../sql/database.js'
 * @import { Doser } from './doser.js'
 */

const HELPER = fileURLToPath(new URL('commit-helper.js', import.meta.url))
/** Time by which Linux lets a process oversleep (PR_SET_TIMERSLACK, prctl(2)), plus the time to wake up. */
const OVERSLEPT_US = 55
/** Range of commit_delay, except 0 (no delay). */
const DELAY_US = { least: 1, most: 100_000 }

/**
 * Delay per log flush that costs the given share of the time. Flushes run one after another: if one every flush_us is the bottleneck,
 * and each takes pause_us longer, throughput falls by pause / (flush + pause).
 * @param {number} share @param {number} flush_us @returns {{ delay_us: number, pause_us: number }} the requested delay, and the actual one
 */
export function pauseOf(share, flush_us) {
  const wanted_us = Math.round((share / (1 - share)) * flush_us - OVERSLEPT_US)
  const delay_us = Math.min(DELAY_US.most, Math.max(DELAY_US.least, wanted_us))
  return { delay_us, pause_us: delay_us + OVERSLEPT_US }
}

/**
 * Corrects the commit's doses by the flushes counted in this trial, which differ from those of the trial that set the doses.
 * The count covers the whole load, since Postgres' statistics are up to a second late.
 * @template {{ share: number, flush_us?: number, taken_ratio: number }} D @param {D[]} doses @param {number} wal_flushes @param {number} duration_s
 * @returns {D[]}
 */
export function countedDoses(doses, wal_flushes, duration_s) {
  return doses.map((dose) => {
    if (!dose.flush_us || dose.share === 0) return dose
    const { pause_us } = pauseOf(dose.share, dose.flush_us)
    return { ...dose, taken_ratio: pause_us / ((duration_s * 1e6) / wal_flushes + pause_us) }
  })
}

/** Starts the helper that slows commits. @param {{ flush_us: number, database: Database }} suspect @returns {Promise<Doser>} */
export async function startCommitDoser({ flush_us, database }) {
  const release = async () => void (await undelayCommits(database.query))
  const { ask, close } = startHelper([process.execPath, HELPER], release)
  await ask({ url: database.url })
  let taken_ratio = 0
  return {
    begin(share) {
      const { delay_us, pause_us } = pauseOf(share, flush_us)
      taken_ratio = pause_us / (flush_us + pause_us)
      return ask({ delay_us })
    },
    end: () => ask({ delay_us: 0 }).then(() => taken_ratio),
    close,
  }
}
