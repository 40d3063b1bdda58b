/**
 * @import { Durability } from '../../sql/durability.js'
 * @import { Run, TrialRecord } from '../report/record.js'
 */

const SHOWN = ['INSERT_MODE', 'POOL_MAX', 'POOL_CONNECT_TIMEOUT_MS', 'MAX_QUEUE_MS', 'PASSWORD_STORAGE', 'NOFILE']

/** The most important settings, as read back from the service; not those of a pool that the proof enlarged. @param {Pick<TrialRecord, 'settings' | 'at'>[]} records */
export function settingsText(records) {
  const own = records.filter(({ at }) => !at.relaxed)
  const set = SHOWN.flatMap((name) => {
    const values = [...new Set(own.map(({ settings }) => settings[name]))].filter((value) => value != null)
    return values.length > 0 ? [`${name}=${values.join(' or ')}`] : []
  })
  return set.length > 0 && `Settings, as read back from the service: ${set.join(', ')}.`
}

/**
 * Describes the machines, versions, database and date, one line each. Runs of older versions lack some of them.
 * @param {Pick<Run, 'machine' | 'target_machine' | 'target_machines' | 'versions' | 'database' | 'started_at' | 'finished_at'>} run
 * @param {Pick<TrialRecord, 'load'>[]} records
 */
export function conditionsOf(run, records) {
  const { machine, versions, database, started_at, finished_at } = run
  const there = targetHosts(run)
  return [
    ...there.map((host) => `${host.name}, on which ${host.ran} ran: ${machineText(host)}, Node ${host.node}`),
    `${there.length > 0 ? 'The generator and the lab: ' : ''}${machineText(machine)}`,
    versionsText(versions, records),
    database && databaseText(database),
    `Started ${started_at.slice(0, 16).replace('T', ' ')} UTC${finished_at ? '' : ', not finished'}`,
  ].flatMap((line) => line || [])
}

/** Other machines on which the API ran, each once, with what ran there. @param {Pick<Run, 'target_machine' | 'target_machines'>} run */
export function targetHosts({ target_machine, target_machines = {} }) {
  const sides = Object.entries(target_machines)
  const names = [...new Set(sides.map(([, { name }]) => name))]
  const ofSides = names.map((name) => {
    const own = sides.filter(([, machine]) => machine.name === name)
    return { ...own[0][1], ran: own.map(([side]) => side.toUpperCase()).join(' and ') }
  })
  return [...(target_machine ? [{ ...target_machine, ran: 'the API' }] : []), ...ofSides]
}

/** Lists the versions of what the run used. @param {Run['versions']} versions @param {Pick<TrialRecord, 'load'>[]} records */
function versionsText({ node, postgres, redline_commit, driver }, records) {
  // Redline's own generators have the version of Node.
  const generators = generatorsOf(records, driver?.replace(` (${node})`, '') ?? '')
  const word = generators.length > 1 ? 'generators' : 'generator'
  return [
    `Node ${node}`,
    ...(postgres === undefined ? [] : [`Postgres ${postgres ?? 'not ours'}`]),
    `Redline ${redline_commit ?? 'without git'}`,
    ...(generators.length > 0 ? [`load ${word}: ${generators.join(', ')}`] : []),
  ].join(', ')
}

/** The generators that sent the load: a verb may use others than the one it was asked for. @param {Pick<TrialRecord, 'load'>[]} records @param {string} asked with its version; empty if the verb has none */
function generatorsOf(records, asked) {
  const used = [...new Set(records.flatMap(({ load }) => load.driver ?? []))]
  if (used.length === 0) return asked ? [asked] : []
  return used.map((name) => (asked.startsWith(`${name} (`) ? asked : name))
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
