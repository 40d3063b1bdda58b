import { isLoopbackName } from '../system/addresses.js'
import { CORE_FULL_RATIO } from '../verdict/detectors/finding.js'
import { coresBeside } from '../verdict/ledger.js'
import { undisturbed } from './of-records.js'

/** @import { TrialRecord } from '../report/record.js' */

/** Cores that other programs must have used beyond what they used in a trial that passed. */
const MORE_CORES = 0.25

/**
 * Trials that other programs may have failed, of a service which has no core of its own: while all cores were busy, it failed at a rate
 * at or below one that it sustained while others used less. Whether a program belongs to the service, such as its database, is not
 * known, but what the service needs for its requests, it also needed in the trial that passed.
 * @param {TrialRecord[]} records
 * @returns {{ failed: Beside, passed: Beside }[]} the greatest difference first; each with the calmest trial that passed
 * @typedef {{ record: TrialRecord, rate_rps: number, used: number, isFull: boolean }} Beside used: cores
 */
export function failedBesideOthers(records) {
  const seen = undisturbed(records).flatMap((record) => {
    const beside = besideOf(record)
    return beside && record.load.loop === 'open' ? { ...beside, record, rate_rps: Number(record.load.rate_rps) } : []
  })
  const [passes, fails] = ['pass', 'fail'].map((verdict) =>
    seen.filter(({ record }) => record.outcome.verdict === verdict),
  )
  const pairs = fails.flatMap((failed) => {
    if (!failed.isFull) return []
    const calmer = passes.filter(({ rate_rps, used }) => {
      return rate_rps >= failed.rate_rps && failed.used - used >= MORE_CORES
    })
    const [passed] = calmer.toSorted((a, b) => a.used - b.used)
    return passed ? { failed, passed } : []
  })
  return pairs.toSorted((a, b) => b.failed.used - b.passed.used - a.failed.used + a.passed.used)
}

/** Cores used by others, and whether all were busy; null: the service has a core of its own, may be on another machine, or was not watched (in older runs). @param {TrialRecord} record */
function besideOf({ target, probes }) {
  const cores = Object.values(probes.kernel?.cores ?? {})
  const used = coresBeside(probes)
  const isHere = probes.api?.cpu_core_ratio !== undefined || isLoopback(target.url)
  if (target.kind !== 'url' || target.cores !== null || used === null || !isHere) return null
  const busy = cores.reduce((sum, { busy_ratio }) => sum + busy_ratio, 0)
  return { used, isFull: busy >= CORE_FULL_RATIO * cores.length }
}

/** @param {string} url may have secrets withheld */
function isLoopback(url) {
  return URL.canParse(url) && isLoopbackName(new URL(url).hostname)
}
