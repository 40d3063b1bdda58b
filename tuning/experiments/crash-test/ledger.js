import { groupBy } from '../../stats/design.js'

/**
 * Compares what a client knows of each request that it sent with what the database holds. Pure.
 * A row must exist if its request was acknowledged. It may exist if the client cannot know: the answer was lost, or says so itself
 * (504). For any other request, it must not exist. No row may exist twice.
 * @param {Entry[]} ledger @param {{ id: string, email: string }[]} rows
 * @returns emails; lost: acknowledged but not stored under their id; doubled: stored more than once; invented: stored although
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
