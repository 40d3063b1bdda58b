import { chmodSync, chownSync, copyFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'
import { NotApplied } from '../../load/command/errors.js'
import { asksForTls, startBetween } from '../../load/system/between.js'
import { versionOf } from '../../load/system/processes.js'
import { postgresUser } from '../../sql/binaries.js'
import { leashed } from '../../sql/leash.js'
import { makeScratch } from '../../sql/scratch.js'
import { ask } from './session.js'

/** @import { Place } from '../../load/run/site.js' */

/** Debian installs it outside the PATH of an ordinary user. */
const PLACES = ['pgbouncer', '/usr/sbin/pgbouncer']

/** Since this version, named statements follow a client from one connection to another. */
const PREPARES_SINCE = '1.21'

/** PgBouncer does not pass the URL's options on: without its search path the rows would go to another table. */
const SEARCH_PATH = `
  SELECT 'SET search_path = ' || setting AS statement FROM pg_settings WHERE name = 'search_path' AND source = 'client'`

/** Files that a URL may name, and PgBouncer's settings for them. @type {Record<string, string>} */
const CERTIFICATES = {
  sslrootcert: 'server_tls_ca_file',
  sslcert: 'server_tls_cert_file',
  sslkey: 'server_tls_key_file',
}

/** More connections than any API opens. */
const MAX_CLIENTS = 2000

/**
 * Starts PgBouncer in transaction mode between this place and its Postgres.
 * @param {Place} place @param {number} pool_size connections to Postgres
 * @throws {NotApplied} if there is no PgBouncer, or the API is on another host
 */
export async function putPgbouncer(place, pool_size) {
  const { program, version } = findPgbouncer()
  const folder = makeScratch('pgbouncer')
  let stop = async () => {}
  const end = async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    // PgBouncer refuses to run as root, as Postgres does.
    const user = await postgresUser()
    const hasOptions = new URL(place.databaseUrl).searchParams.has('options')
    const [session] = hasOptions ? await ask(place.databaseUrl, SEARCH_PATH) : []
    const started = await startBetween('PgBouncer', place, (port) => {
      const files = writeFiles(place, { folder, port, pool_size, version, session })
      // The folder stays ours, so that the next run can remove it if we are killed; PgBouncer's user can traverse it.
      if (user) chmodSync(folder, 0o711)
      if (user) for (const file of files) chownSync(file, user.uid, user.gid)
      return leashed([program, files[0]], { signal: 'KILL', user })
    })
    stop = started.end
    const url = new URL(started.databaseUrl)
    // PgBouncer speaks TLS to Postgres only.
    url.searchParams.set('sslmode', 'disable')
    for (const parameter of Object.keys(CERTIFICATES)) url.searchParams.delete(parameter)
    await ask(url.href, 'SELECT').catch(({ message }) => {
      throw new Error(`expected PgBouncer to reach Postgres, got: ${message}; its own words are in ${place.logFile}`)
    })
    return { databaseUrl: url.href, settings: { PGBOUNCER: version }, end }
  } catch (error) {
    await end()
    throw error
  }
}

/** The pool size that PgBouncer reports. @param {string} databaseUrl that goes through PgBouncer */
export async function poolSizeOf(databaseUrl) {
  const url = new URL(databaseUrl)
  url.pathname = '/pgbouncer'
  const rows = await ask(url.href, 'SHOW CONFIG')
  const { pool_mode, default_pool_size } = Object.fromEntries(rows.map(({ key, value }) => [key, value]))
  return pool_mode === 'transaction' ? default_pool_size : `${default_pool_size} in ${pool_mode} mode`
}

/** PgBouncer's program and version. @param {string[]} [places] @throws {NotApplied} if there is none */
export function findPgbouncer(places = PLACES) {
  for (const program of places) {
    const version = versionOf(program, '--version', /^PgBouncer (\S+)/)
    if (version !== 'unknown') return { program, version }
  }
  throw new NotApplied('expected pgbouncer on PATH, found none; sudo apt-get install pgbouncer installs it')
}

/** Returns the paths, configuration first. @param {Place} place @param {Omit<Parameters<typeof pgbouncerConfig>[0], 'server'>} options */
function writeFiles(place, options) {
  const { host, port, user, password } = new pg.Client({ connectionString: place.databaseUrl })
  const given = [...new URL(place.databaseUrl).searchParams].filter(([name]) => Object.hasOwn(CERTIFICATES, name))
  const copies = given.map(([name, from]) => ({ name, from, to: path.join(options.folder, name) }))
  const certificates = copies.map(({ name, to }) => `${CERTIFICATES[name]} = ${to}`)
  const server = { host, port, user: String(user), isVerified: asksForTls(place), certificates }
  const [config, users] = ['pgbouncer.ini', 'users.txt'].map((name) => path.join(options.folder, name))
  writeFileSync(config, pgbouncerConfig({ ...options, server }), { mode: 0o600 })
  const quoted = [user, password].map((text) => `"${String(text).replaceAll('"', '""')}"`)
  writeFileSync(users, `${quoted.join(' ')}\n`, { mode: 0o600 })
  for (const { from, to } of copies) copyFileSync(from, to)
  return [config, users, ...copies.map(({ to }) => to)]
}

/**
 * PgBouncer's configuration. It ignores startup parameters, since it would otherwise refuse clients that send them, and sets the
 * search path on each connection that it opens. Pure.
 * @param {{ server: { host: string, port: number, user: string, isVerified: boolean, certificates: string[] }, folder: string,
 *   port: number, pool_size: number, version: string, session?: { statement: string } }} options session: for each connection that it opens
 */
export function pgbouncerConfig({ server, folder, port, pool_size, version, session }) {
  const prepares = version.localeCompare(PREPARES_SINCE, 'en', { numeric: true }) >= 0
  const query = session ? ` connect_query='${session.statement.replaceAll("'", "''")}'` : ''
  return `[databases]
* = host=${server.host} port=${server.port}${query}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${folder}/users.txt
stats_users = ${server.user}
pool_mode = transaction
default_pool_size = ${pool_size}
max_client_conn = ${MAX_CLIENTS}
ignore_startup_parameters = statement_timeout,options,extra_float_digits
log_connections = 0
log_disconnections = 0
server_tls_sslmode = ${server.isVerified ? 'verify-full' : 'disable'}
${server.certificates.map((line) => `${line}\n`).join('')}${prepares ? 'max_prepared_statements = 200\n' : ''}`
}
