/**
 * The fate of a statement that failed. The only place that interprets SQLSTATEs (Postgres manual, appendix A). Pure.
 *
 * - `refused-row`: one row's values are the cause. Nothing is stored; other rows may well be.
 * - `refused-statement`: no row would be stored: a table, a privilege or an id is missing. Permanent until somebody acts.
 * - `not-stored`: nothing is stored, and the same statement may succeed later.
 * - `unknown`: the statement may have been committed, or may still be.
 *
 * An ErrorResponse to a statement means that its transaction was aborted: Postgres reports no ERROR once a commit has
 * begun. (A backend that is terminated while it waits for a synchronous standby, after its local commit, sends a
 * warning and closes the connection.) No response means nothing, however the silence ended: the connection was lost, the
 * server crashed, or our own timer fired. That timer matters, since Postgres stops its statement_timeout before it commits.
 *
 * pg gives the same error to every statement on a lost connection, sent or not. Those that may have left count as unknown.
 *
 * @param {any} error what pg rejected a statement with, after a connection was obtained for it
 * @returns {{ fate: Fate, endsSession: boolean }} endsSession: the connection must not be used again
 *
 * @typedef {'refused-row' | 'refused-statement' | 'not-stored' | 'unknown'} Fate
 */
export function outcomeOf({ message, severity, code = '', routine }) {
  // Only a server's ErrorResponse has a severity.
  if (severity === undefined) return { fate: NEVER_SENT.test(message) ? 'not-stored' : 'unknown', endsSession: true }
  // "cached plan must not change result type": the table was altered, and this session prepared its statement before.
  const isStalePlan = code === '0A000' && routine === 'RevalidateCachedQuery'
  // A policy of row-level security that a row violates has the code of a missing privilege.
  const isAboutRow = ABOUT_A_ROW.test(code) || (code === '42501' && routine === 'ExecWithCheckOptions')
  const isLost = LOST.test(code) || severity === 'PANIC' || (severity !== 'ERROR' && MAY_STRIKE_IN_COMMIT.test(code))
  const endsSession = ENDS_SESSION.test(code) || /^(FATAL|PANIC)$/.test(severity) || isStalePlan
  if (isLost) return { fate: 'unknown', endsSession }
  if (isAboutRow) return { fate: 'refused-row', endsSession }
  return { fate: PASSING.test(code) || isStalePlan ? 'not-stored' : 'refused-statement', endsSession }
}

/** pg's text for a statement that came to a connection already lost or closed: not a byte of it was written. */
const NEVER_SENT = /not queryable/

/** The server, or a pooler in front of it, says that it lost the statement: connection exceptions, and a crash. */
const LOST = /^(08|57P02)/

/**
 * I/O and internal errors. As an ERROR they abort the statement; as a PANIC they may hit a commit whose record survives
 * on disk. The severity is the only difference, and it is translated, so any word but ERROR leaves the outcome open.
 */
const MAY_STRIKE_IN_COMMIT = /^(53100|58|F0|XX)/

/**
 * Data exceptions, integrity constraints, WITH CHECK OPTION, errors raised by a trigger's own code, and an index entry that is
 * too large (54000); but not an exhausted sequence, which is in class 22.
 */
const ABOUT_A_ROW = /^(22(?!00H)|23|44|P0|54000)/

/**
 * Serialisation and lock trouble, resources, an operator's intervention, a read-only server, I/O and internal errors. And
 * a prepared statement that is not there (26000) or is there already (42P05): that of a connection, so the next may do.
 */
const PASSING = /^(40|53|55P03|57|58|25006|26000|42P05|XX)/

/**
 * The session is closed or will be (a connection exception, a server that shuts down), or it lacks a statement that pg
 * prepared on it (26000), which pg would never prepare again.
 */
const ENDS_SESSION = /^(08|57P0|26000)/
