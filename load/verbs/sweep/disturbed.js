import { failedBesideOthers } from '../../capacity/beside-others.js'

/** @import { TrialRecord } from '../../report/record.js' */

/** Says that other programs may have failed trials, so that the interval is wider; null without such trials. @param {{ records: TrialRecord[] }} findings */
export function disturbedText({ records }) {
  const pairs = failedBesideOthers(records)
  if (pairs.length === 0) return null
  const [{ failed, passed }] = pairs
  const watched = failed.record.probes.api?.cpu_core_ratio === undefined ? '' : ' and the service'
  const fails = pairs.length === 1 ? '1 trial' : `${pairs.length} trials`
  const rate = passed.rate_rps === failed.rate_rps ? 'the same' : 'a higher'
  return `Other programs may have failed ${fails}, so the capacity's upper end is the higher of two estimates: with and without ${pairs.length === 1 ? 'it' : 'them'}. All cores were busy, and in trial ${failed.record.trial}, programs other than the generator${watched} used ${failed.used.toFixed(2)} cores; trial ${passed.record.trial} passed at ${rate} rate while they used ${passed.used.toFixed(2)}.`
}
