/**
 * What a client knows of each request that it sent, against what the database holds. Pure.
 *
 * A row may be there for a request that was acknowledged (and then must be), and for one of which the client cannot know:
 * its answer was lost, or says so itself (504). For any other it must not. And no row may be there twice.
 *
 * @param {Entry[]} ledger
 * @param {{ id: string, email: string }[]} rows
 * @returns emails; lost: acknowledged and not there under their id; doubled: there more than once; invented: there although
 *   nobody sent them or they were refused
 *
 * @typedef {{ email: string, outcome: 'acknowledged' | 'refused' | 'unknown', id?: string }} Entry
 */
export function checkLedger(ledger, rows) {
  const outcomeOf = new Map(ledger.map(({ email, outcome }) => [email, outcome]))
  const storedAs = new Map(rows.map(({ id, email }) => [id, email]))
  const emails = rows.map(({ email }) => email)
  const seen = new Set()
  const doubled = emails.filter((email) => {
    const again = seen.has(email)
    seen.add(email)
    return again
  })
  const of = (/** @type {Entry['outcome']} */ outcome) => ledger.filter((entry) => entry.outcome === outcome)
  const lost = of('acknowledged').filter(({ id, email }) => storedAs.get(String(id)) !== email)
  return {
    acknowledged: of('acknowledged').length,
    unknown: of('unknown').length,
    lost: lost.map(({ email }) => email),
    doubled,
    invented: emails.filter((email) => (outcomeOf.get(email) ?? 'refused') === 'refused'),
  }
}
