import { existsSync, readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { parse as parseDotenv } from 'dotenv'
import { SETTINGS } from './settings.js'

/** @import { Setting } from './settings.js' */

/** Query parameters allowed in DATABASE_URL. */
const URL_PARAMETERS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'host', 'options', 'application_name']

/** pg's environment variables that `.env` may contain. */
const PG_VARIABLES = ['PGHOST', 'PGPORT', 'PGUSER', 'PGPASSWORD', 'PGDATABASE', 'PGSSLMODE', 'PGOPTIONS', 'PGAPPNAME']

/** Number of threads that hash passwords, which libuv reads from the environment of the process. */
export const HASHING_THREADS = threadsOf(process.env.UV_THREADPOOL_SIZE)

/** An invalid setting. The message is one line: what was expected and what was received. */
export class ConfigError extends Error {}

/**
 * Reads the configuration: the environment first, then `.env` in the working directory, then the defaults.
 * @param {NodeJS.ProcessEnv} [env] @returns {Readonly<Config>} @throws {ConfigError}
 */
export function readConfig(env = process.env, dotenvFile = '.env') {
  // Shells write an empty value for "not set": it must not hide that of .env.
  const set = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''))
  const merged = { ...readDotenv(dotenvFile), ...set }
  refuseSeveralHosts(merged)
  const values = Object.entries(SETTINGS).map(([name, setting]) => {
    const camelCase = name.toLowerCase().replace(/_(.)/g, (_, letter) => letter.toUpperCase())
    return [camelCase, settingValue(name, setting, merged[name])]
  })
  refuseUnverifiedTls(merged)
  return Object.freeze(Object.fromEntries(values))
}

/** Warnings for the log about settings that work but should be changed. @param {Config} config @param {NodeJS.ProcessEnv} [env] */
export function warningsOf({ passwordStorage, databaseUrl }, env = process.env) {
  const warnings = []
  if (passwordStorage === 'plain') {
    warnings.push("PASSWORD_STORAGE=plain stores passwords as they come: the benchmark's workload, not for real users")
  }
  const url = databaseUrl ? new URL(databaseUrl) : null
  const host = url?.searchParams.get('host') || url?.hostname || env.PGHOST || ''
  const isHere = /^$|^\/|^%2f|^localhost$|^127(\.\d+){3}$|^\[?::1\]?$/i.test(host)
  if (!isHere && (url?.searchParams.get('sslmode') ?? env.PGSSLMODE) !== 'verify-full') {
    warnings.push('the way to the database is not encrypted: set sslmode=verify-full and sslrootcert in DATABASE_URL')
  }
  return warnings
}

/** Size of libuv's thread pool, by its own rules: 4 by default, at least 1, at most 1,024. @param {string | undefined} size UV_THREADPOOL_SIZE */
export function threadsOf(size) {
  if (size === undefined) return 4
  const asked = Number.parseInt(size, 10) || 1
  // libuv reads the number as unsigned, so a negative one is a very large one.
  return asked < 0 ? 1024 : Math.min(1024, asked)
}

/**
 * POOL_MAX -> poolMax.
 * @template {string} Name
 * @typedef {Name extends `${infer First}_${infer Rest}` ? `${Lowercase<First>}${Capitalize<CamelCase<Rest>>}` : Lowercase<Name>} CamelCase
 */

/** @typedef {{ [Name in keyof typeof SETTINGS as CamelCase<Name>]: (typeof SETTINGS)[Name]['default'] }} Config */

/** @param {string} file */
function readDotenv(file) {
  if (!existsSync(file)) return {}
  const values = parseDotenv(textOf(file))
  for (const [name, value] of Object.entries(values)) {
    // pg reads its variables from the environment.
    if (PG_VARIABLES.includes(name)) process.env[name] ||= value
    else if (!Object.hasOwn(SETTINGS, name)) {
      throw wrong(file, 'only known settings (see .env.example)', JSON.stringify(name))
    }
  }
  return values
}

/** @param {string} file */
function textOf(file) {
  try {
    return readFileSync(file)
  } catch (error) {
    throw wrong(file, 'a file with settings that this user may read', String(/** @type {any} */ (error).code))
  }
}

/** @param {string} name @param {Setting} setting @param {string} [raw] */
function settingValue(name, { default: byDefault, expected, levels, form, min = 1, max = 0 }, raw) {
  // .env files, too, write an empty value for "not set".
  if (raw === undefined || raw === '') return byDefault
  if (levels?.includes(raw) || (form && FORMS[form](raw))) return raw
  // Only whole numbers have a nonempty range.
  if (/^\d{1,15}$/.test(raw) && Number(raw) >= min && Number(raw) <= max) return Number(raw)
  // A URL may contain a password.
  throw wrong(name, expected, form === 'url' ? 'something else' : JSON.stringify(raw))
}

/** libpq would try several hosts in turn; pg takes the list for one name. @param {NodeJS.ProcessEnv} env */
function refuseSeveralHosts({ DATABASE_URL: url = '', PGHOST = '' }) {
  // Several hosts with ports are no URL for Node.
  const [, authority = ''] = /^\w+:\/\/([^/?#]*)/.exec(url) ?? []
  const named = URL.canParse(url) ? new URL(url).searchParams.get('host') : null
  const ofUrl = named || authority.slice(authority.lastIndexOf('@') + 1)
  const host = ofUrl || PGHOST
  // The path of a socket may contain a comma.
  if (!host.startsWith('/') && host.includes(',')) throw wrong(ofUrl ? 'DATABASE_URL' : 'PGHOST', 'one host', 'several')
}

/** Refuses pg's modes that encrypt without verifying the server, and URL parameters that are unknown or repeated. @param {NodeJS.ProcessEnv} env */
function refuseUnverifiedTls(env) {
  const query = env.DATABASE_URL ? new URL(env.DATABASE_URL).searchParams : new URLSearchParams()
  for (const name of query.keys()) {
    if (URL_PARAMETERS.includes(name) && query.getAll(name).length === 1) continue
    // The end of a password with a ? in it, and the host.
    const got = name.includes('@') ? 'another (a ? in a password is written %3F)' : name
    throw wrong('DATABASE_URL', `each of ${URL_PARAMETERS.join(', ')} at most once`, got)
  }
  const modes = { PGSSLMODE: env.PGSSLMODE || null, 'sslmode in DATABASE_URL': query.get('sslmode') }
  for (const [name, mode] of Object.entries(modes)) {
    if (mode === null || mode === 'disable' || mode === 'verify-full') continue
    throw wrong(name, 'verify-full (with a CA file in sslrootcert) or disable', JSON.stringify(mode))
  }
  const caFile = query.get('sslrootcert')
  if (caFile !== null && !existsSync(caFile)) {
    throw wrong('sslrootcert in DATABASE_URL', 'a file with CA certificates', JSON.stringify(caFile))
  }
  if (caFile !== null && query.get('sslmode') !== 'verify-full') {
    throw wrong('DATABASE_URL', 'sslmode=verify-full with sslrootcert', 'none')
  }
  if (env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw wrong('NODE_TLS_REJECT_UNAUTHORIZED', 'it unset (give a CA file instead)', '"0"')
  }
}

const wrong = (/** @type {string} */ name, /** @type {string} */ expected, /** @type {string} */ got) =>
  new ConfigError(`${name}: expected ${expected}, got ${got}`)

const FORMS = {
  host: (/** @type {string} */ raw) => isIP(raw) !== 0 || /^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/.test(raw),
  url: (/** @type {string} */ raw) => /^postgres(ql)?:\/\//i.test(raw) && URL.canParse(raw),
}
