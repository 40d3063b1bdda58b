import { readlinkSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { attempt, textOf } from './attempt.js'

/** @import { Client } from 'pg' */

const FACTS = `
  SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous_commit,
    current_setting('full_page_writes') AS full_page_writes, current_setting('wal_sync_method') AS wal_sync_method,
    EXISTS (SELECT FROM pg_class WHERE oid = ANY ($1::regclass[]) AND relpersistence = 'u') AS unlogged,
    ARRAY(SELECT tgname::text FROM pg_trigger WHERE tgrelid = ANY ($1::regclass[]) AND NOT tgisinternal) AS triggers,
    pg_backend_pid() AS pid,
    CASE WHEN pg_has_role('pg_read_all_settings', 'usage') THEN current_setting('data_directory') END AS data_directory`

/**
 * Tells how durable a commit of the API is.
 * @param {Client} client @param {string[]} tables @param {string | null} folder of our own server @returns {Promise<Durability>}
 * @typedef {Record<'fsync' | 'synchronous_commit' | 'full_page_writes' | 'wal_sync_method', string> &
 *   { unlogged: boolean, triggers: string[], file_system: string | null }} Durability file_system: such as ext4; null: unknown
 */
export async function durabilityOf(client, tables, folder) {
  const { rows } = await client.query(FACTS, [tables])
  const { pid, data_directory, ...facts } = rows[0]
  // A link, such as TMPDIR may be, is on another file system than what it leads to.
  const own = folder && realpathSync(folder)
  return { ...facts, file_system: own ? fileSystemOf(own) : fileSystemOfBackend(pid, data_directory) }
}

/** @param {Durability} facts @returns {string[]} reasons why a 201 promises too much */
export function durabilityWarnings({ unlogged, triggers, file_system, ...settings }) {
  const names = /** @type {const} */ (['fsync', 'synchronous_commit', 'full_page_writes'])
  const off = names.filter((name) => settings[name] === 'off')
  const warnings = off.map((name) => `Postgres has ${name} = off: a 201 may be lost in a crash`)
  if (unlogged) warnings.push('the table is UNLOGGED: a crash of Postgres empties it, and its commits cost less')
  if (triggers.length > 0) warnings.push(`the table has triggers, which each insert pays for: ${triggers.join(', ')}`)
  if (file_system === 'tmpfs' || file_system === 'ramfs') {
    warnings.push(`the data of Postgres is in memory (${file_system}): commits cost less than on a disk (set TMPDIR)`)
  }
  return warnings
}

/** @param {string} folder @param {string | null} [mounts] as in proc(5) @returns {string | null} null: unknown */
export function fileSystemOf(folder, mounts = textOf('/proc/mounts')) {
  const all = (mounts ?? '').split('\n').map((line) => line.split(' '))
  const unescaped = (/** @type {string} */ text) =>
    text.replace(/\\(\d{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)))
  const around = all.filter(([, point]) => point && path.join(folder, '/').startsWith(path.join(unescaped(point), '/')))
  // The sort is stable: of several mounts on one point, the last one counts.
  const inner = around.sort(([, one], [, other]) => one.length - other.length).at(-1)
  return inner?.[2] ?? null
}

/** If we see a backend work in the data directory, the server runs on this machine. @param {number} pid @param {string | null} data_directory */
function fileSystemOfBackend(pid, data_directory) {
  const own = attempt(() => readlinkSync(`/proc/${pid}/cwd`), null)
  return data_directory && data_directory === own ? fileSystemOf(own, textOf(`/proc/${pid}/mounts`)) : null
}
