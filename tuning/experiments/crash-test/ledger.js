/**
 * What a client knows of each request that it sent, against what the database holds. Pure.
 *
 * A row may be there for a request that was acknowledged (and then must be), and for one of which the client cannot know:
 * its answer was lost, or says so itself (504). For any other it must not. And no row may be there twice.
 *
 * @param {Entry[]} ledger
 * @param {{ id: string, email: string }[]} rows
 * @returns {{ acknowledged: number, unknown: number, lost: string[], doubled: string[], invented: string[] }} emails:
 *   acknowledged and not there under their id; there more than once; there although nobody sent them or they were refused
 *
 * @typedef {object} Entry
 * @property {string} email
 * @property {'acknowledged' | 'refused' | 'unknown'} outcome
 * @property {string} [id] of an acknowledged one
 */
export function checkLedger(ledger, rows) {
  const sent = new Map(ledger.map((entry) => [entry.email, entry]))
  const emailOf = new Map(rows.map(({ id, email }) => [id, email]))
  const seen = new Set()
  /** @type {string[]} */
  const doubled = []
  /** @type {string[]} */
  const invented = []
  for (const { email } of rows) {
    if (seen.has(email)) doubled.push(email)
    seen.add(email)
    const outcome = sent.get(email)?.outcome
    if (outcome === undefined || outcome === 'refused') invented.push(email)
  }
  const acknowledged = ledger.filter(({ outcome }) => outcome === 'acknowledged')
  const lost = acknowledged.filter(({ id, email }) => emailOf.get(String(id)) !== email).map(({ email }) => email)
  const unknown = ledger.filter(({ outcome }) => outcome === 'unknown').length
  return { acknowledged: acknowledged.length, unknown, lost, doubled, invented }
}
