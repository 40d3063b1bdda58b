import { undisturbed } from '../../capacity/of-records.js'
import { isLoopbackName } from '../../system/addresses.js'
import { CORE_FULL_RATIO } from '../../verdict/detectors/finding.js'
import { coresBeside } from '../../verdict/ledger.js'

/** @import { TrialRecord } from '../../report/record.js' */

/** Cores that other programs must have used beyond what they used in a trial that passed. */
const MORE_CORES = 0.25

/**
 * Says that other programs may have failed a service which has no core of its own: while all cores were busy, it failed at a rate at
 * or below one that it sustained while others used less. Null without such trials. Whether a program belongs to the service, such as
 * its database, is not known, but what the service needs for its requests, it also needed in the trial that passed.
 * @param {{ records: TrialRecord[] }} findings
 */
export function disturbedText({ records }) {
  const seen = undisturbed(records).flatMap((record) => {
    const beside = besideOf(record)
    return beside && record.load.loop === 'open' ? { ...beside, record, rate_rps: Number(record.load.rate_rps) } : []
  })
  const [passed, failed] = ['pass', 'fail'].map((verdict) =>
    seen.filter(({ record }) => record.outcome.verdict === verdict),
  )
  const pairs = failed.flatMap((one) => {
    if (!one.isFull) return []
    const calmer = passed.filter((other) => other.rate_rps >= one.rate_rps && one.used - other.used >= MORE_CORES)
    const [least] = calmer.toSorted((a, b) => a.used - b.used)
    return least ? { one, least } : []
  })
  if (pairs.length === 0) return null
  const [{ one, least }] = pairs.toSorted((a, b) => b.one.used - b.least.used - a.one.used + a.least.used)
  const watched = one.record.probes.api?.cpu_core_ratio === undefined ? '' : ' and the service'
  const fails = pairs.length === 1 ? '1 trial' : `${pairs.length} trials`
  return `Other programs may have failed ${fails}, so the capacity may be higher: all cores were busy, and in trial ${one.record.trial}, programs other than the generator${watched} used ${one.used.toFixed(2)} cores; trial ${least.record.trial} passed at ${least.rate_rps === one.rate_rps ? 'the same' : 'a higher'} rate while they used ${least.used.toFixed(2)}.`
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
