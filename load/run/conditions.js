/**
 * @import { Durability } from '../../sql/durability.js'
 * @import { Run, TrialRecord } from '../report/record.js'
 */

const SHOWN = ['INSERT_MODE', 'POOL_MAX', 'POOL_CONNECT_TIMEOUT_MS', 'MAX_QUEUE_MS', 'PASSWORD_STORAGE', 'NOFILE']

/** The most important settings, as read back. @param {Pick<TrialRecord, 'settings'>[]} records */
export function settingsText(records) {
  const set = SHOWN.flatMap((name) => {
    const values = [...new Set(records.map(({ settings }) => settings[name]))].filter((value) => value != null)
    return values.length > 0 ? [`${name}=${values.join(' or ')}`] : []
  })
  return set.length > 0 && `Settings, read back: ${set.join(', ')}.`
}

/**
 * Machine, versions, database and date, a line each. Runs of older versions lack some of them.
 * @param {Pick<Run, 'machine' | 'target_machine' | 'versions' | 'database' | 'started_at' | 'finished_at'>} run
 */
export function conditionsOf({ machine, target_machine: there, versions, database, started_at, finished_at }) {
  return [
    there && `${there.name}, on which the API ran: ${machineText(there)}, Node ${there.node}`,
    `${there ? 'The generator and the lab: ' : ''}${machineText(machine)}`,
    versionsText(versions),
    database && databaseText(database),
    `Begun ${started_at.slice(0, 16).replace('T', ' ')} UTC${finished_at ? '' : ', not finished'}`,
  ].flatMap((line) => line || [])
}

/** Leaves out what a run did not use. @param {Run['versions']} versions */
function versionsText({ node, postgres, redline_commit, driver }) {
  return [
    `Node ${node}`,
    ...(postgres === undefined ? [] : [`Postgres ${postgres ?? 'not ours'}`]),
    `Redline ${redline_commit ?? 'without git'}`,
    ...(driver ? [`load generator ${driver}`] : []),
  ].join(', ')
}

/** @param {{ kind: string, schema: string } & Durability} database */
function databaseText({ kind, schema, unlogged, file_system, ...settings }) {
  const names = /** @type {const} */ (['fsync', 'synchronous_commit', 'full_page_writes', 'wal_sync_method'])
  const where = kind === 'embedded' ? 'Database started for this run' : `Database given, schema ${schema}`
  const table = `${unlogged ? 'an UNLOGGED' : 'a logged'} table`
  const data = file_system ? `data on ${file_system}` : 'data on an unknown file system'
  return [`${where}: ${table}`, ...names.map((name) => `${name} ${settings[name]}`), data].join(', ')
}

/** @param {{ cpu_model: string, cores: number, memory_bytes: number, kernel: string }} machine */
function machineText({ cpu_model, cores, memory_bytes, kernel }) {
  return `${cpu_model}, ${cores} cores, ${(memory_bytes / 2 ** 30).toFixed(0)} GiB, ${kernel}`
}
