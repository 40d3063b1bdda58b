/** @import { ProblemCode } from './errors.js' */

/**
 * Determines what a failed statement means for its requests. Interprets SQLSTATEs (Postgres manual, appendix A). Pure.
 *
 * - `user_exists`: a unique index already contains one of the row's values. Nothing is stored; other rows may be accepted.
 * - `row_refused`: one row's values are the cause. Nothing is stored; other rows may be accepted.
 * - `database_refused`: no row can be stored: a table, a privilege or an id is missing. Permanent until somebody acts.
 * - `database_unavailable`: nothing is stored, and the same statement may succeed later.
 * - `outcome_unknown`: the statement may have been committed, or may yet be committed.
 *
 * An ErrorResponse to a statement means that its transaction was aborted: Postgres reports no ERROR once a commit has
 * begun. (A backend terminated while it waits for a synchronous standby, after its local commit, sends a warning and
 * closes the connection.) A missing response proves nothing, whether the connection was lost, the server crashed or our
 * own timer fired (Postgres stops its statement_timeout before it commits). pg gives the same error to every statement on
 * a lost connection, sent or not.
 * @param {any} error pg's error for a statement that had obtained a connection
 * @returns {{ problem: ProblemCode, endsSession: boolean }} endsSession: the connection must not be used again
 */
export function outcomeOf({ message, severity, code = '', routine, constraint = '' }) {
  // Only an ErrorResponse from a server has a severity.
  if (severity === undefined) {
    return { problem: NEVER_SENT.test(message) ? 'database_unavailable' : 'outcome_unknown', endsSession: true }
  }
  // "cached plan must not change result type": the table was altered after this session prepared its statement.
  const isStalePlan = code === '0A000' && routine === 'RevalidateCachedQuery'
  // PL/pgSQL's RAISE, whose SQLSTATE the author of a trigger chooses: it says nothing about the session or the commit.
  const isRaised = routine === 'exec_stmt_raise'
  // A row that violates a row-level security policy gets the SQLSTATE of a missing privilege.
  const isPolicy = code === '42501' && routine === 'ExecWithCheckOptions'
  const isAboutRow = ABOUT_A_ROW.test(code) || isPolicy || (isRaised && !PASSING.test(code))
  const isLost = LOST.test(code) || severity === 'PANIC' || (severity !== 'ERROR' && MAY_STRIKE_IN_COMMIT.test(code))
  const endsSession = !isRaised && (ENDS_SESSION.test(code) || /^(FATAL|PANIC)$/.test(severity) || isStalePlan)
  if (isLost && !isRaised) return { problem: 'outcome_unknown', endsSession }
  // Two rows with the same id are our mistake, not the client's.
  if (code === UNIQUE_VIOLATION && !PRIMARY_KEY.test(constraint)) return { problem: 'user_exists', endsSession }
  if (isAboutRow) return { problem: 'row_refused', endsSession }
  return { problem: PASSING.test(code) || isStalePlan ? 'database_unavailable' : 'database_refused', endsSession }
}

/** pg's message for a statement on a connection already lost or closed: not a byte was sent. */
const NEVER_SENT = /not queryable/

/** The server, or a pooler in front of it, reports that it lost the statement: connection exceptions, a completion that is unknown, and a crash. */
const LOST = /^(08|40003|57P02)/

/**
 * I/O and internal errors. As an ERROR they abort the statement; as a PANIC they may hit a commit whose record survives on
 * disk. Only the severity differs, and it is translated, so the outcome is unknown for any severity but ERROR.
 */
const MAY_STRIKE_IN_COMMIT = /^(53100|58|F0|XX)/

/**
 * Data exceptions, integrity constraints, errors of trigger code (38: PL/Python and PL/Perl; P0: PL/pgSQL), WITH CHECK OPTION, and an
 * oversized index entry (54000). Excludes an exhausted sequence (2200H), although it is in class 22.
 */
const ABOUT_A_ROW = /^(22(?!00H)|23|38|44|P0|54000)/

/**
 * Serialization and lock failures, resource shortages, operator intervention, a read-only server, a transaction's timeout, I/O and
 * internal errors.
 * Also a prepared statement that is missing (26000) or already exists (42P05): another connection may work.
 */
const PASSING = /^(40|53|55P03|57|58|25006|25P04|26000|42P05|XX)/

const UNIQUE_VIOLATION = '23505'
/** Default name of a primary key's constraint. */
const PRIMARY_KEY = /_pkey$/

/** The session is closed (connection exception, server shutdown), or lacks a statement that pg prepared on it (26000). */
const ENDS_SESSION = /^(08|57P0|26000)/
