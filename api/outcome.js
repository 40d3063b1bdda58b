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
 * @returns {Outcome}
 */
export function outcomeOf(error) {
  // Only a server's ErrorResponse has a severity.
  if (error.severity !== undefined) return { fate: fateOf(error), endsSession: endsSession(error) }
  return { fate: NEVER_SENT.test(error.message) ? 'not-stored' : 'unknown', endsSession: true }
}

/**
 * @typedef {'refused-row' | 'refused-statement' | 'not-stored' | 'unknown'} Fate
 * @typedef {{ fate: Fate, endsSession: boolean }} Outcome `endsSession`: the connection must not be used again
 */

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

/** @param {ServerError} error @returns {Fate} */
function fateOf(error) {
  const { code = '', severity } = error
  if (LOST.test(code) || severity === 'PANIC') return 'unknown'
  if (severity !== 'ERROR' && MAY_STRIKE_IN_COMMIT.test(code)) return 'unknown'
  if (isAboutRow(error)) return 'refused-row'
  return PASSING.test(code) || isStalePlan(error) ? 'not-stored' : 'refused-statement'
}

/** @param {ServerError} error */
function endsSession(error) {
  return ENDS_SESSION.test(error.code ?? '') || /^(FATAL|PANIC)$/.test(error.severity) || isStalePlan(error)
}

/** A policy of row-level security that a row violates has the code of a missing privilege (42501). @param {ServerError} error */
function isAboutRow({ code = '', routine }) {
  return ABOUT_A_ROW.test(code) || (code === '42501' && routine === 'ExecWithCheckOptions')
}

/** "cached plan must not change result type": the table was altered, and this session prepared its statement before. @param {ServerError} error */
function isStalePlan({ code, routine }) {
  return code === '0A000' && routine === 'RevalidateCachedQuery'
}

/** @typedef {{ severity: string, code?: string, routine?: string }} ServerError */
