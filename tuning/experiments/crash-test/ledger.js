import { groupBy } from '../../stats/design.js'

/**
 * What a client knows of each request that it sent, against what the database holds. Pure.
 * A row must be there if its request was acknowledged, and may be there if the client cannot know: the answer was lost, or says so
 * itself (504). For any other request it must not. And no row may be there twice.
 * @param {Entry[]} ledger @param {{ id: string, email: string }[]} rows
 * @returns emails; lost: acknowledged and not there under their id; doubled: there more than once; invented: there although
 *   nobody sent them or they were refused
 * @typedef {{ email: string, outcome: 'acknowledged' | 'refused' | 'unknown', id?: string }} Entry
 */
export function checkLedger(ledger, rows) {
  const outcomeOf = new Map(ledger.map(({ email, outcome }) => [email, outcome]))
  const storedAs = new Map(rows.map(({ id, email }) => [id, email]))
  const emails = rows.map(({ email }) => email)
  const of = (/** @type {Entry['outcome']} */ outcome) => ledger.filter((entry) => entry.outcome === outcome)
  const lost = of('acknowledged').filter(({ id, email }) => storedAs.get(String(id)) !== email)
  return {
    acknowledged: of('acknowledged').length,
    unknown: of('unknown').length,
    lost: lost.map(({ email }) => email),
    doubled: [...groupBy(emails, (email) => email).values()].flatMap(([, ...copies]) => copies),
    invented: emails.filter((email) => (outcomeOf.get(email) ?? 'refused') === 'refused'),
  }
}
