import { setTimeout as pause } from 'node:timers/promises'
import { DatabaseError } from './connection.js'

/**
 * @import { Table } from './claim.js'
 * @import { Client } from 'pg'
 */

/** Sessions of a killed run need a moment to end. */
const SESSIONS_END_MS = 3000
const APIS_END_MS = 1000
const POLL_MS = 100

/**
 * Sessions of other clients that use these tables, as far as Postgres shows: they hold a lock on one, their last statement names
 * one, or they are an API of ours that this run did not start. Without the role pg_read_all_stats, other roles' statements are
 * hidden; another session's search path always is.
 */
const USING = `
  SELECT pid, usename AS role, application_name AS application, host(client_addr) AS address
  FROM pg_stat_activity AS session
  WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND coalesce(backend_type, 'client backend') = 'client backend' AND usesysid IS NOT NULL
    AND NOT application_name = ANY ($3::text[])
    AND (pid IN (SELECT pid FROM pg_locks WHERE relation = ANY ($1::oid[]))
      OR ($4 AND application_name = 'redline-api') OR query ~* ('\\m(' || array_to_string($2::text[], '|') || ')\\M'))
  ORDER BY pid LIMIT 5`

const APIS = "SELECT FROM pg_stat_activity WHERE application_name = 'redline-api' AND datname = current_database()"

/** Sessions of the run itself: the lab, the API, faults and crash tests. */
const OF_THE_RUN = ['redline-lab', 'redline-api', 'redline-api-readiness', 'redline-fault']

/** Waits for other sessions on the tables to end. @param {Client} client @param {Table[]} tables @throws {DatabaseError} if they do not */
export async function refuseOtherSessions(client, tables) {
  const by = { names: tables.map(({ name }) => name), countsApis: true }
  const until = Date.now() + SESSIONS_END_MS
  while ((await sessionsUsing(client, tables, by)) && Date.now() < until) await pause(POLL_MS)
  const todo = "leave out search_path in the URL's options (or PGOPTIONS): the lab then works in a schema of its own"
  await refuse(client, tables, by, `expected a table for this run alone. Stop them, or ${todo}`)
}

/**
 * Refuses other clients, for a run whose rows cannot be told from theirs. Notices neither another API, which looks like the run's
 * own, nor a client that has disconnected.
 * @param {Client} client @param {Table[]} tables @param {string[]} names that a statement on the tables must contain
 * @throws {DatabaseError}
 */
export function refuseStrangers(client, tables, names) {
  const reason =
    'their rows cannot be told from those of the run, which stops and keeps them. Stop whoever else uses the table'
  return refuse(client, tables, { names, ignored: OF_THE_RUN }, reason)
}

/** @param {Client} client @param {Table[]} tables @param {Uses} by @param {string} reason */
async function refuse(client, tables, by, reason) {
  const sessions = await sessionsUsing(client, tables, by)
  if (sessions) throw new DatabaseError(`${tables[0].full_name} is in use by ${sessions}: ${reason}`)
}

/** Waits while Postgres may still execute statements of a killed API, whose rows belong to the run. @param {Client} client */
export async function untilApisEnded(client) {
  for (const until = Date.now() + APIS_END_MS; Date.now() < until; await pause(POLL_MS)) {
    if ((await client.query(APIS)).rows.length === 0) return
  }
}

/**
 * Lists the sessions that use the tables, by default those that hold locks on them.
 * @param {Client} client @param {Table[]} tables @param {Uses} [by] @returns {Promise<string>} empty if there are none
 * @typedef {{ names?: string[], ignored?: string[], countsApis?: boolean }} Uses names: words of a statement that uses the tables (the
 *   default matches none); ignored: application names; countsApis: any API of ours counts
 */
export async function sessionsUsing(client, tables, { names = ['(?!)'], ignored = [], countsApis = false } = {}) {
  const { rows } = await client.query(USING, [tables.map(({ oid }) => oid), names, ignored, countsApis])
  const texts = rows.map(({ pid, role, application, address }) => {
    return `session ${pid} (${[application || 'no application name', role, address].filter(Boolean).join(', ')})`
  })
  return texts.join(', ')
}
