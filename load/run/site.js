import { LAB_SCHEMA } from '../../sql/address.js'
import { DatabaseError, lookAtDatabase, openDatabase } from '../../sql/database.js'
import { settingsOf } from '../command/environment.js'
import { UsageError } from '../command/errors.js'
import { DRIVERS } from '../generators/drivers/index.js'
import { emailPatterns } from '../generators/mix.js'
import { describeMachine, redlineCommit } from '../system/machine.js'
import { pinToCores } from '../system/processes.js'
import { apiHostsOf, startsHere } from '../system/ssh/plan.js'
import { closeHosts, nodeWarning, openHosts, pinnedTo, placesOn, targetMachines } from './api-hosts.js'

/**
 * @import { Database, Look } from '../../sql/database.js'
 * @import { Environment } from '../command/environment.js'
 * @import { Host } from '../system/ssh/host.js'
 * @import { Elsewhere } from '../system/ssh/plan.js'
 * @import { Target, openLocal } from '../targets/index.js'
 * @import { Hosts } from './api-hosts.js'
 * @import { Results } from './results.js'
 * @import { Io } from './runner.js'
 * @import { Plan } from '../report/record.js'
 */

/**
 * Opens the database, and the machines and cores for the targets. If the API runs on other hosts only, the lab and its generator have
 * all of this machine.
 * @param {Plan & Elsewhere} plan @param {Results} results @param {Io & { runId: string }} io @param {typeof pinToCores} [takeCores]
 * @returns {Promise<Site>} @throws {UsageError} if the database was not named as one that may be emptied
 * @typedef {{ database: Database | null, cores: Cores | null, place: Place, hosts: Hosts, look?: Look, close: () => Promise<void> }} Site
 *   look: reads a service's own database; cores: of this machine, null if nothing is pinned here; hosts: other machines on which the
 *   API runs
 * @typedef {{ api: string, others: string }} Cores
 * @typedef {Parameters<typeof openLocal>[0] & { allCores: string | null, host?: Host, signal?: AbortSignal, places?: Record<string, Place> }} Place
 *   where a target will run; places: those on the hosts of the sides, by the names of the hosts
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
    if (plan.start) progress.note('starting the service …')
    return { database: null, cores, place, hosts: {}, ...(look && { look }), close: async () => look?.close() }
  }
  refuseUnnamed(environment)
  const { url, pg } = environment.database
  const [first] = apiHostsOf(plan)
  if (first && !url) {
    throw new UsageError(
      `${first.flag} ${first.ssh.host}: expected --database-url URL (or DATABASE_URL), a Postgres that both this machine and the host reach, got none`,
    )
  }
  const hosts = await openHosts(plan, { signal, note: progress.note, logFile })
  try {
    const cores = startsHere(plan) ? takeCores() : null
    if (!url) progress.note('starting Postgres …')
    const database = await openDatabase(url, { run: runId, own: emailPatterns(plan.mix), pg })
    const common = { databaseUrl: database.url, logFile, signal }
    const places = placesOn(hosts, { ...common, env: settingsOf(environment.settings) })
    const here = { ...common, ...pinnedTo(cores), env: environment.forApi, ...(first && { places }) }
    const close = async () => {
      await closeHosts(hosts)
      await database.close()
    }
    return { database, cores, place: plan.ssh ? places[plan.ssh.host] : here, hosts, close }
  } catch (error) {
    await closeHosts(hosts)
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

/** Describes a run's environment, for run.json. @param {Plan & Elsewhere} plan @param {Site} site */
export async function describeRun(plan, { database, cores, hosts }) {
  const driver = DRIVERS[plan.driver]
  const unpinned = [
    ...(startsHere(plan) && !cores ? ['this system'] : []),
    ...Object.values(hosts).flatMap((host) => (host.cores ? [] : host.name)),
  ]
  const shared = unpinned.map((name) => {
    return `${name} cannot pin processes (one core, or no taskset): the API shared its core with everything else`
  })
  const { kind, version, schema, round_trip_ms } = database ?? {}
  return {
    machine: describeMachine(),
    ...targetMachines(plan, hosts),
    versions: {
      ...{ node: process.version, postgres: database?.version ?? null, redline_commit: await redlineCommit() },
      driver: `${driver.name} (${await driver.version()})`,
    },
    database: database && { kind, version, schema, round_trip_ms, ...database.durability },
    slo: plan.slo,
    warnings: [...(database?.warnings ?? []), ...shared, ...nodeWarning(plan, hosts)],
  }
}

export const NOT_PINNED = 'Nothing was pinned: this system has one core, or no taskset.'

/**
 * Describes which core ran what, for the report.
 * @param {Pick<Plan, 'url' | 'start'> & Elsewhere} plan
 * @param {Pick<Site, 'cores'> & { database: { kind: string } | null, hosts?: Record<string, Pick<Host, 'name' | 'cores'>> }} bench
 * @param {Pick<Target, 'cores'> & { pid?: number | null }} target
 */
export function pinningText(plan, { database, cores, hosts = {} }, target) {
  if (plan.url && !plan.start) return 'Nothing was pinned: the service ran already.'
  if (plan.ssh) {
    const where = whereOn(hosts[plan.ssh.host], target.cores)
    return `The API ran ${where}; the generator and the lab ran here, unpinned; Postgres ran already, wherever it is.`
  }
  if (Object.keys(hosts).length > 0) return pinningOfSides(plan, { cores, hosts })
  if (!cores) return NOT_PINNED
  if (plan.start && target.pid === null)
    return `The service ran in a container, which was not pinned; the generator and the lab ran on core ${cores.others}.`
  if (plan.start)
    return `The service ran on core ${target.cores ?? cores.api} alone, the generator and the lab on core ${cores.others}.`
  const others = database?.kind === 'embedded' ? 'Postgres, the generator and the lab' : 'the generator and the lab'
  const elsewhere = database?.kind === 'embedded' ? '' : '; Postgres ran already, wherever it is'
  return `The API ran on core ${target.cores ?? cores.api} alone, ${others} on core ${cores.others}${elsewhere}.`
}

/** @param {Elsewhere} plan @param {{ cores: Cores | null, hosts: Record<string, Pick<Host, 'name' | 'cores'>> }} bench */
function pinningOfSides({ sides = {} }, { cores, hosts }) {
  const here = cores
    ? `on core ${cores.api} of this machine alone`
    : 'on this machine, unpinned, since it has one core, or no taskset'
  const texts = Object.entries(sides).map(([side, { url, ssh }]) => {
    const name = side.toUpperCase()
    if (url !== null) return `${name} ran already`
    return `${name} ran ${ssh ? whereOn(hosts[ssh.host]) : here}`
  })
  const lab = cores ? `on core ${cores.others} of this machine` : 'here, unpinned'
  return `${texts.join('; ')}; the generator and the lab ran ${lab}; Postgres ran already, wherever it is.`
}

/** @param {Pick<Host, 'name' | 'cores'>} host @param {string | null} [core] of the API, if its process told */
function whereOn({ name, cores }, core) {
  return cores
    ? `on core ${core ?? cores.api} of ${name} alone, our agent there on core ${cores.others}`
    : `on ${name}, unpinned beside the system and our agent, since it has one core, or no taskset`
}
