import path from 'node:path'
import { applySchema } from '../../sql/database.js'
import { startEmbedded } from '../../sql/embedded.js'
import { dataParent } from './data-parent.js'
import { rows } from './database.js'

/** What `test/run.js` has started for all test files; a file that runs without it starts its own. */
const TEMPLATE = 'redline_template'

/** @type {Promise<Shared> | undefined} */
let starting
let databases = 0

/**
 * @typedef {import('../../sql/embedded.js').Initialised} Initialised
 * @typedef {object} Shared
 * @property {string} url of the server that the test files of one run share
 * @property {Initialised} [initialised] for servers of a test's own
 */

/**
 * A database of the test's own on the shared server, with the schema applied, until the test ends. Its commits are not
 * flushed to disk.
 * @param {any} t
 * @returns {Promise<{ url: string }>}
 */
export async function newDatabase(t) {
  const { url } = await shared(t)
  const name = `test_${process.pid}_${++databases}`
  await rows(url, `CREATE DATABASE ${name} TEMPLATE ${TEMPLATE}`)
  t.teardown(() => rows(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
  return { url: inDatabase(url, name) }
}

/**
 * A server of the test's own with the schema applied, until the test ends: for tests that stop it, change its settings or
 * look at its sessions.
 * @param {any} t
 * @param {Record<string, string>} [settings]
 */
export async function newServer(t, settings) {
  const embedded = await startServer(settings)
  // Its data are of no use to anybody, so it need not write them out.
  t.teardown(() => embedded.halt('SIGQUIT').then(embedded.stop))
  await cheapenLogins(embedded.url)
  await applySchema(embedded.url)
  return embedded
}

/**
 * The same for a caller that ends it itself, without the schema.
 * @param {Record<string, string>} [settings]
 * @param {string} [parent] of its folder
 */
export function startServer(settings, parent) {
  const initialised = given()?.initialised
  return startEmbedded({ settings, parent: parent ?? parentFor(initialised), initialised })
}

/** Next to what is copied, in a run of all test files. @param {Initialised} [initialised] */
function parentFor(initialised) {
  return initialised ? path.dirname(initialised.folder) : dataParent()
}

/**
 * Starts the server that the test files share.
 * @param {Initialised} [initialised]
 */
export async function startShared(initialised) {
  const settings = { max_connections: '500', fsync: 'off', full_page_writes: 'off' }
  const embedded = await startEmbedded({ settings, parent: parentFor(initialised), initialised })
  await cheapenLogins(embedded.url)
  await rows(embedded.url, `CREATE DATABASE ${TEMPLATE}`)
  await applySchema(inDatabase(embedded.url, TEMPLATE))
  return embedded
}

/** A login takes 4,096 rounds of SHA-256 on either side, and tests log in thousands of times: one round will do. @param {string} url */
function cheapenLogins(url) {
  const { username, password } = new URL(url)
  return rows(url, `SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD '${password}'`)
}

/** @param {any} t @returns {Promise<Shared>} */
async function shared(t) {
  starting ??= Promise.resolve(given() ?? startForThisFile(t))
  return starting
}

/** @param {any} t any test of the file */
async function startForThisFile(t) {
  let root = t
  while (root.parent) root = root.parent
  const embedded = await startShared()
  root.teardown(() => {
    starting = undefined
    return embedded.halt('SIGQUIT').then(embedded.stop)
  })
  return { url: embedded.url }
}

/** Of the run of all test files. @returns {Shared | undefined} */
export function given() {
  const { REDLINE_TEST_POSTGRES } = process.env
  return REDLINE_TEST_POSTGRES ? JSON.parse(REDLINE_TEST_POSTGRES) : undefined
}

/** @param {string} url @param {string} name */
function inDatabase(url, name) {
  const other = new URL(url)
  other.pathname = `/${name}`
  return String(other)
}
