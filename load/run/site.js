import { LAB_SCHEMA } from '../../sql/address.js'
import { DatabaseError, lookAtDatabase, openDatabase } from '../../sql/database.js'
import { settingsOf } from '../command/environment.js'
import { UsageError } from '../command/errors.js'
import { DRIVERS } from '../generators/drivers/index.js'
import { emailPatterns } from '../generators/mix.js'
import { describeMachine, redlineCommit } from '../system/machine.js'
import { pinToCores } from '../system/processes.js'
import { openHost } from '../system/ssh/host.js'

/**
 * @import { Database, Look } from '../../sql/database.js'
 * @import { Environment } from '../command/environment.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Target, openLocal } from '../targets/index.js'
 * @import { Results } from './results.js'
 * @import { Io } from './runner.js'
 * @import { Plan } from '../report/record.js'
 */

/**
 * Opens the database, and the machine and cores for the target. If the API runs on another host, the lab and its generator have
 * all of this machine.
 * @param {Plan} plan @param {Results} results @param {Io & { runId: string }} io @param {typeof pinToCores} [takeCores]
 * @returns {Promise<Site>} @throws {UsageError} if the database was not named as one that may be emptied
 * @typedef {{ database: Database | null, cores: Cores | null, place: Place, host: Host | null, look?: Look, close: () => Promise<void> }} Site
 *   look: reads a service's own database; cores: of this machine, null if nothing is pinned here; host: the API's, if not this machine
 * @typedef {{ api: string, others: string }} Cores
 * @typedef {Parameters<typeof openLocal>[0] & { allCores: string | null, host?: Host, signal?: AbortSignal }} Place where a target will run
 */
export async function openSite(plan, results, io, takeCores = pinToCores) {
  const { progress, environment, signal, runId } = io
  const logFile = results.file('api.log')
  if (plan.url) {
    const cores = plan.start ? takeCores() : null
    // A user's service gets the environment that it would have without the lab.
    const env = { ...environment.forApi, ...environment.pg }
    const place = { databaseUrl: '', cores: cores?.api ?? null, allCores: null, env, logFile, signal }
    const look = plan.postgres_url ? await lookAt(plan.postgres_url) : undefined
    if (look && !look.sees_others) progress.note(`warning: ${BLIND_ROLE}`)
    return { database: null, cores, place, host: null, ...(look && { look }), close: async () => look?.close() }
  }
  refuseUnnamed(environment)
  const { url, pg } = environment.database
  if (plan.ssh && !url) {
    throw new UsageError(
      `--ssh ${plan.ssh.host}: expected --database-url URL (or DATABASE_URL), a Postgres that both this machine and the host reach, got none`,
    )
  }
  const host = plan.ssh ? await openHost(plan.ssh, { signal, note: progress.note, logFile }) : null
  try {
    const cores = host ? host.cores : takeCores()
    if (!url) progress.note('starting Postgres …')
    const database = await openDatabase(url, { run: runId, own: emailPatterns(plan.mix), pg })
    const pinned = { cores: cores?.api ?? null, allCores: cores && `${cores.api},${cores.others}` }
    const env = host ? settingsOf(environment.settings) : environment.forApi
    const place = { databaseUrl: database.url, ...pinned, env, logFile, signal, ...(host && { host }) }
    const close = async () => {
      await host?.close()
      await database.close()
    }
    return { database, cores: host ? null : cores, place, host, close }
  } catch (error) {
    await host?.close()
    throw error
  }
}

/** @param {string} url */
function lookAt(url) {
  return lookAtDatabase(url).catch((error) => {
    const said = error.message.replace(/^DATABASE_URL/, '--postgres-url')
    throw error instanceof DatabaseError ? new DatabaseError(said) : error
  })
}

const BLIND_ROLE =
  '--postgres-url: its role does not see what other sessions wait for: GRANT pg_monitor TO it, as a superuser'

/** Refuses the API's URL, from `.env`: the lab would empty a table that matters. @param {Environment} environment @throws {UsageError} */
export function refuseUnnamed({ database: { url, isNamed } }) {
  if (!url || isNamed) return
  throw new UsageError(
    'DATABASE_URL comes from .env: expected a database chosen for this run, since the lab empties its table before ' +
      'every trial. --database-url embedded starts a Postgres for the run; --database-url URL (or ' +
      `DATABASE_URL in the environment) names yours, where the lab works in a schema of its own, ${LAB_SCHEMA}`,
  )
}

/** Describes a run's environment, for run.json. @param {Plan} plan @param {Site} site */
export async function describeRun(plan, { database, cores, host }) {
  const driver = DRIVERS[plan.driver]
  const what = host ? host.name : 'this system'
  const shared = `${what} cannot pin processes (one core, or no taskset): the API shared its core with everything else`
  const isPinned = (plan.url && !plan.start) || (host ?? { cores }).cores
  const { kind, version, schema, round_trip_ms } = database ?? {}
  return {
    machine: describeMachine(),
    ...(host && { target_machine: { name: host.name, ...host.machine } }),
    versions: {
      ...{ node: process.version, postgres: database?.version ?? null, redline_commit: await redlineCommit() },
      driver: `${driver.name} (${await driver.version()})`,
    },
    database: database && { kind, version, schema, round_trip_ms, ...database.durability },
    slo: plan.slo,
    warnings: [...(database?.warnings ?? []), ...(isPinned ? [] : [shared])],
  }
}

/**
 * Describes which core ran what, for the report.
 * @param {Pick<Plan, 'url' | 'start'>} plan
 * @param {Pick<Site, 'cores'> & { database: { kind: string } | null, host?: Pick<Host, 'name' | 'cores'> | null }} bench
 * @param {Pick<Target, 'cores'> & { pid?: number | null }} target
 */
export function pinningText(plan, { database, cores, host }, target) {
  if (plan.url && !plan.start) return 'Nothing was pinned: the service ran already.'
  if (host) {
    const where = host.cores
      ? `on core ${target.cores ?? host.cores.api} of ${host.name} alone, our agent there on core ${host.cores.others}`
      : `on ${host.name}, unpinned beside the system and our agent, since it has one core, or no taskset`
    return `The API ran ${where}; the generator and the lab ran here, unpinned; Postgres ran already, wherever it is.`
  }
  if (!cores) return 'Nothing was pinned: this system has one core, or no taskset.'
  if (plan.start && target.pid === null)
    return `The service ran in a container, which was not pinned; the generator and the lab ran on core ${cores.others}.`
  if (plan.start)
    return `The service ran on core ${target.cores ?? cores.api} alone, the generator and the lab on core ${cores.others}.`
  const others = database?.kind === 'embedded' ? 'Postgres, the generator and the lab' : 'the generator and the lab'
  const elsewhere = database?.kind === 'embedded' ? '' : '; Postgres ran already, wherever it is'
  return `The API ran on core ${target.cores ?? cores.api} alone, ${others} on core ${cores.others}${elsewhere}.`
}
