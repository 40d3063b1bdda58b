import os from 'node:os'
import { DatabaseError } from './connection.js'

/** The lab's own schema in a user's database, clear of the user's tables. */
export const LAB_SCHEMA = 'redline_lab'

/** Parameters of a URL that name files. */
export const TLS_FILES = ['sslrootcert', 'sslcert', 'sslkey']
const PARAMETERS = ['sslmode', ...TLS_FILES, 'host', 'port', 'options', 'application_name']

/** Matches a search path among the options of a session (postgres(1)): `-c search_path=x`, `--search-path=x`. */
const NAMES_SEARCH_PATH = /(?:-c\s*|--)search[_-]path\s*=/i

/**
 * Completes a database URL: server, user, database, TLS and search path. The lab, the API and everything else that connects use
 * this URL alone, so all of them mean the same table. Pure but for the name of the system's user.
 * @param {string} url as the user gave it @param {NodeJS.ProcessEnv} [pg] PG* variables that fill in what the URL leaves out
 * @returns {{ url: string, ownSchema: boolean }} ownSchema: no search path was named, so the lab uses its own schema
 * @throws {DatabaseError} for a URL that pg cannot use, or TLS that would not verify the server
 */
export function explicitAddress(url, pg = {}) {
  const given = parsed(url)
  const query = given.searchParams
  for (const name of query.keys()) {
    // pg would ignore unknown parameters, and all but the last of a name.
    if (PARAMETERS.includes(name) && query.getAll(name).length === 1) continue
    // The end of a password with a ? in it, and the host.
    const got = name.includes('@') ? 'another (a ? in a password is written %3F)' : name
    throw wrong(`each of ${PARAMETERS.join(', ')} at most once, got ${got}`)
  }
  refuseUnverifiedTls(query.get('sslmode'), pg)
  const user = decoded(given.username) || pg.PGUSER || os.userInfo().username
  const password = decoded(given.password) || pg.PGPASSWORD || ''
  const host = query.get('host') || decoded(given.hostname) || pg.PGHOST || 'localhost'
  refuseSeveralHosts(host)
  const port = query.get('port') || given.port || pg.PGPORT || '5432'
  const database = decoded(given.pathname.slice(1), decodeURI) || pg.PGDATABASE || user
  const options = query.get('options') || pg.PGOPTIONS || ''
  const ownSchema = !NAMES_SEARCH_PATH.test(options)

  const sslmode = query.get('sslmode') || pg.PGSSLMODE || 'disable'
  const parameters = new URLSearchParams({ sslmode })
  for (const name of TLS_FILES.filter((one) => query.has(one))) {
    if (sslmode !== 'verify-full')
      throw wrong(`sslmode=verify-full with ${name}, got ${query.get('sslmode') ?? 'none'}`)
    parameters.set(name, String(query.get(name)))
  }
  const asked = [options, ownSchema ? `-c search_path=${LAB_SCHEMA}` : ''].filter(Boolean).join(' ')
  if (asked) parameters.set('options', asked)
  const login = [user, password].filter(Boolean).map(encodeURIComponent).join(':')
  // The folder of a socket takes the host's place, percent-encoded: pg decodes it.
  const authority = host.includes(':') && !host.startsWith('[') ? `[${host}]` : encodeURIComponent(host)
  const explicit = `postgres://${login}@${authority}:${port}/${encodeURI(database)}?${parameters}`
  if (/[?#]/.test(database)) throw wrong(`a database without ? and #, got ${database}`)
  if (!URL.canParse(explicit)) throw wrong(`a port, got ${JSON.stringify(port)}`)
  return { url: explicit, ownSchema }
}

/** @param {string} url */
function parsed(url) {
  const [, authority = ''] = /^\w+:\/\/([^/?#]*)/.exec(url) ?? []
  refuseSeveralHosts(authority.split('@').at(-1) ?? '')
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return new URL(url)
  throw wrong('a URL such as postgres://user:password@host/db')
}

/** libpq would try several hosts in turn; pg takes the list for one name. @param {string} host */
function refuseSeveralHosts(host) {
  if (!host.startsWith('/') && host.includes(',')) throw wrong('one host, got several')
}

/** Refuses modes of TLS that do not verify the server, as api/config.js does. @param {string | null} sslmode @param {NodeJS.ProcessEnv} pg */
function refuseUnverifiedTls(sslmode, pg) {
  for (const [name, mode] of Object.entries({ DATABASE_URL: sslmode, PGSSLMODE: pg.PGSSLMODE })) {
    if (!mode || mode === 'disable' || mode === 'verify-full') continue
    throw wrong(`sslmode verify-full (with sslrootcert=FILE) or disable, got "${mode}"`, name)
  }
  if (pg.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw wrong('it unset (give a CA file instead), got "0"', 'NODE_TLS_REJECT_UNAUTHORIZED')
  }
}

/** Decodes as pg does, which decodes the database with decodeURI. @param {string} text percent-encoded */
function decoded(text, decode = decodeURIComponent) {
  try {
    return decode(text).replace(/^\[(.+)\]$/, '$1')
  } catch {
    throw wrong('a % to begin a percent-encoded character, got another one')
  }
}

const wrong = (/** @type {string} */ expected, name = 'DATABASE_URL') =>
  new DatabaseError(`${name}: expected ${expected}`)
