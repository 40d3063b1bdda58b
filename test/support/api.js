import { openLocal } from '../../load/targets/index.js'
import { openDatabase } from '../../sql/database.js'
import { startEmbedded } from '../../sql/embedded.js'

/**
 * A Postgres of the test's own with the schema applied, until the test ends.
 *
 * @param {any} t
 * @param {Record<string, string>} [settings]
 */
export async function postgres(t, settings) {
  const embedded = await startEmbedded({ settings })
  t.teardown(() => embedded.stop())
  const database = await openDatabase(embedded.url)
  await database.close()
  return embedded
}

/**
 * The API as a process of its own, until the test ends.
 *
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string>} [env] settings
 * @returns {Promise<Api>}
 */
export async function startApi(t, databaseUrl, env = {}) {
  const logFile = `${t.testdir({})}/api.log`
  const target = await openLocal({ databaseUrl, cores: null, env: { ...process.env, ...env }, logFile })
  t.teardown(target.stop)
  return { ...target, origin: new URL(target.url).origin, logFile }
}

/** @typedef {import('../../load/targets/index.js').Target & { origin: string, logFile: string }} Api */

/** @param {string} url @param {unknown} body @param {Record<string, string>} [headers] */
export function post(url, body, headers = { 'Content-Type': 'application/json' }) {
  const raw = typeof body === 'string' || body instanceof Uint8Array
  return fetch(url, { method: 'POST', headers, body: raw ? /** @type {any} */ (body) : JSON.stringify(body) })
}

let users = 0

/** A user whom nobody has sent yet. */
export function newUser() {
  return { email: `user-${process.pid}-${users++}@redline.test`, password: 'secret' }
}

/** The value of a metric without labels. @param {Api} api @param {string} name */
export async function metric(api, name) {
  const text = await (await fetch(`${api.adminUrl}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}
