import { isRefused } from './ladder.js'

/** @import { TrialRecord } from '../report/record.js' */

/** Advice for a status, or a kind of error, that every request ends in. @type {[outcome: RegExp, advice: string][]} */
const ADVICE = [
  [/^30[1-378]$/, 'redirects are not followed: use the URL that they lead to'],
  [/^401$/, 'send credentials with --header'],
  [/^403$/, 'send credentials with --header, unless a firewall blocks this much load'],
  [/^404$/, 'check the path of the URL'],
  [/^405$/, 'choose another --method'],
  [/^50[234]$/, 'check that the service behind the proxy is running'],
  [/^server:refused$/, 'is the service running?'],
  [/^server:(closed|protocol)$/, 'check that this port speaks HTTP/1.1, and not only HTTPS or HTTP/2'],
  [/^server:tls$/, 'check its certificate for this host name; NODE_EXTRA_CA_CERTS=FILE adds an authority of yours'],
  [/^client:(timeout|unsent)$/, 'check the host and the port, and that no firewall is in between'],
]

/** How a service stopped. @param {TrialRecord} answered the last trial with a success @param {TrialRecord} last @param {string} load that it had carried */
export function stoppedText(answered, last, load) {
  const seen = isRefused(last) ? 'every connection was refused' : `not one request succeeded, even ${load}`
  return `after trial ${answered.trial}, ${seen}: ${last.outcome.because}`
}

/** Why not one request of a trial succeeded, and what to check. @param {Pick<TrialRecord, 'outcome' | 'traffic'>} trial */
export function failureText({ outcome, traffic }) {
  const outcomes = Object.keys({ ...traffic.status, ...traffic.errors })
  const found = ADVICE.find(([known]) => outcomes.length > 0 && outcomes.every((one) => known.test(one)))
  return `${outcome.because}${found ? `; ${found[1]}` : ''}`
}
