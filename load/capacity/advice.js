import { isRefused } from './ladder.js'

/** @import { TrialRecord } from '../report/record.js' */

/** What to do about a status that every response has. @type {[status: RegExp, advice: string][]} */
const ADVICE = [
  [/^3/, 'redirects are not followed, so send the requests to where they lead'],
  [/^40[13]$/, 'send credentials with --header'],
  [/^404$/, 'check the path of the URL'],
  [/^405$/, 'choose another --method'],
]

/** How a service stopped. @param {TrialRecord} answered the last trial with a success @param {TrialRecord} last @param {string} load that it had carried */
export function stoppedText(answered, last, load) {
  const seen = isRefused(last) ? 'every connection was refused' : `not one request succeeded, even ${load}`
  return `after trial ${answered.trial}, ${seen}: ${last.outcome.because}`
}

/** Why not one request of a trial succeeded, and what to check. @param {Pick<TrialRecord, 'outcome' | 'traffic'>} trial */
export function failureText({ outcome, traffic }) {
  const statuses = Object.keys(traffic.status)
  const [, advice] = ADVICE.find(([status]) => statuses.length > 0 && statuses.every((one) => status.test(one))) ?? []
  const check = isRefused({ traffic }) ? 'is the service running?' : advice
  return `${outcome.because}${check ? `; ${check}` : ''}`
}
