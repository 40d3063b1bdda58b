import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { isDeepStrictEqual } from 'node:util'
import { parse } from 'dotenv'
import { SETTINGS } from '../../api/settings.js'
import { UsageError } from './errors.js'

/** Node's own variables that change what is measured. */
const OF_NODE = ['NODE_ENV', 'UV_THREADPOOL_SIZE']

/**
 * Variables of libpq (Postgres manual, "Environment Variables") and of pg itself that determine how a client connects.
 * PGPASSFILE is excluded, since it does not select a database.
 */
const OF_PG = new Set(
  `PGHOST PGHOSTADDR PGPORT PGDATABASE PGUSER PGPASSWORD PGREQUIREAUTH PGCHANNELBINDING PGSERVICE PGSERVICEFILE PGOPTIONS
   PGAPPNAME PGSSLMODE PGREQUIRESSL PGSSLCOMPRESSION PGSSLCERT PGSSLKEY PGSSLCERTMODE PGSSLROOTCERT PGSSLCRL PGSSLCRLDIR
   PGSSLSNI PGSSLNEGOTIATION PGSSLMINPROTOCOLVERSION PGSSLMAXPROTOCOLVERSION PGREQUIREPEER PGGSSENCMODE PGKRBSRVNAME
   PGGSSLIB PGGSSDELEGATION PGCONNECT_TIMEOUT PGCLIENTENCODING PGTARGETSESSIONATTRS PGLOADBALANCEHOSTS
   PGMINPROTOCOLVERSION PGMAXPROTOCOLVERSION PGDATESTYLE PGTZ PGGEQO PGSYSCONFDIR PGLOCALEDIR PGBINARY PGCLIENT_ENCODING
   PGREPLICATION`.split(/\s+/),
)

/**
 * Reads the environment and `.env`, once. The API reads its settings from the same two places itself; only the database is
 * resolved here. The PG* variables complete the one URL that all connections use (sql/address.js). They are removed from this
 * process, so that no connection can differ.
 * @param {NodeJS.ProcessEnv} [env] @param {string} [dotenvFile] @returns {Environment}
 * @typedef {{ database: GivenDatabase, pg: GivenDatabase['pg'], forApi: NodeJS.ProcessEnv, settings: NodeJS.ProcessEnv }} Environment
 *   pg: variables from the environment alone; settings: as the API will read them
 * @typedef {{ url: string | undefined, isNamed: boolean, pg: Record<string, string | undefined> }} GivenDatabase
 *   url: undefined: the embedded Postgres; isNamed: for this run; a URL in `.env` belongs to the API, whose tables the lab must
 *   not empty; pg: variables that complete the URL
 */
export function readEnvironment(env = process.env, dotenvFile = '.env') {
  const file = existsSync(dotenvFile) ? parse(settingsText(dotenvFile)) : {}
  const isNamed = env.DATABASE_URL !== undefined
  const url = (env.DATABASE_URL ?? file.DATABASE_URL) || undefined
  const pg = pgVariablesOf(env)
  const settings = { ...file, ...env }
  // They remain known to a reference such as {{env PGPASSWORD}}.
  if (env === process.env) for (const name of Object.keys(env).filter((one) => OF_PG.has(one))) takeVariable(name)
  return { database: { url, isNamed, pg: isNamed ? pg : { ...pgVariablesOf(file), ...pg } }, pg, forApi: env, settings }
}

/** Reads `.env`. dotenv would ignore a line that it does not understand. @param {string} file @throws {UsageError} */
function settingsText(file) {
  const text = textOf(file)
  const lines = text.split(/\r\n?|\n/)
  const found = parse(text)
  const wrong = lines.findIndex((line, i) => {
    if (/^\s*(#|$)/.test(line) || /^\s*(export\s+)?[\w.-]+\s*[=:]/.test(line)) return false
    // A line in the middle of a quoted value belongs to it.
    return isDeepStrictEqual(parse(lines.toSpliced(i, 1).join('\n')), found)
  })
  if (wrong === -1) return text
  // Do not quote the line: it may hold a secret.
  throw new UsageError(`${file}, line ${wrong + 1}: expected NAME=value or # with a comment, got something else`)
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    throw new UsageError(`expected a file with NAME=value lines, got ${file}, which cannot be read (${code})`)
  }
}

/** Replaces the database with the command line's, if any. @param {Environment} environment @param {string} [asked] URL, or "embedded" */
export function withDatabase(environment, asked) {
  if (asked === undefined) return environment
  const url = asked === 'embedded' ? undefined : asked
  return { ...environment, database: { url, isNamed: true, pg: environment.pg } }
}

/** Includes NODE_TLS_REJECT_UNAUTHORIZED, which decides whether TLS verifies the server. @param {NodeJS.ProcessEnv} env */
function pgVariablesOf(env) {
  const isOurs = (/** @type {string} */ name) => OF_PG.has(name) || name === 'NODE_TLS_REJECT_UNAUTHORIZED'
  return Object.fromEntries(Object.entries(env).filter(([name]) => isOurs(name)))
}

/** Selects the settings for an API on another host. Nothing else leaves this machine. @param {NodeJS.ProcessEnv} settings */
export function settingsOf(settings) {
  const known = new Set([...Object.keys(SETTINGS), ...OF_NODE].filter((name) => name !== 'DATABASE_URL'))
  return Object.fromEntries(Object.entries(settings).filter(([name, value]) => known.has(name) && value !== undefined))
}

/** @type {Map<string, string>} */
const taken = new Map()
/** Variables without which child processes could not run. */
const NEEDED = ['PATH', 'HOME', 'TMPDIR']

/** Moves a secret variable out of our environment, so that no child process inherits it. @param {string} name */
export function takeVariable(name) {
  const value = taken.get(name) ?? process.env[name]
  if (value === undefined) return undefined
  taken.set(name, value)
  if (!NEEDED.includes(name)) delete process.env[name]
  return value
}

/** Returns the variables that any program needs, and none that would change the API. @param {NodeJS.ProcessEnv} [env] */
export function bareEnvironment({ PATH, HOME, TMPDIR } = process.env) {
  return { PATH, HOME, TMPDIR }
}

/** Whether Node verifies the certificates of https servers. @param {NodeJS.ProcessEnv} [env] */
export function verifiesServers(env = process.env) {
  return env.NODE_TLS_REJECT_UNAUTHORIZED !== '0'
}

/** Returns the address at which ssh reached us (ssh(1)); load can reach it too. null: none, or link-local. @param {NodeJS.ProcessEnv} [env] */
export function sshAddress(env = process.env) {
  const address = env.SSH_CONNECTION?.split(' ')[2] ?? ''
  return isIP(address) && !address.includes('%') ? address : null
}

/** This process's environment without the variables that name a proxy. @returns {NodeJS.ProcessEnv} */
export function withoutProxies() {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(https?|all)_proxy$/i.test(name)))
}
