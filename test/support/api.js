import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openLocal } from '../../load/targets/index.js'

/**
 * The API as a process of its own, until the test ends.
 *
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string>} [env] settings
 * @returns {Promise<Api>}
 */
export async function startApi(t, databaseUrl, env = {}) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'redline-test-'))
  t.teardown(() => fs.rmSync(folder, { recursive: true, force: true }))
  const logFile = path.join(folder, 'api.log')
  const target = await openLocal({ databaseUrl, cores: null, env: { ...process.env, ...env }, logFile })
  t.teardown(target.stop)
  return { ...target, origin: new URL(target.url).origin, logFile }
}

/**
 * The API without waiting until it is ready, for a database that it cannot use.
 *
 * @param {any} t
 * @param {string} databaseUrl
 */
export async function startUnready(t, databaseUrl) {
  const env = { ...process.env, DATABASE_URL: databaseUrl, PORT: '0', ADMIN_PORT: '0' }
  const child = spawn(process.execPath, ['api/server.js'], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let log = ''
  child.stdout.on('data', (chunk) => {
    log += chunk
  })
  while (!log.includes('"listening"')) await once(child.stdout, 'data')
  const { url, admin_url } = JSON.parse(log.split('\n').find((line) => line.includes('"listening"')) ?? '')
  return { url: `${url}/user`, adminUrl: admin_url, child, log: () => log }
}

/** No answer waits for the log, which comes a moment later. @param {string} logFile @param {RegExp} pattern */
export async function logged(logFile, pattern) {
  while (!pattern.test(fs.readFileSync(logFile, 'utf8'))) await new Promise((resolve) => setTimeout(resolve, 10))
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
