import { spawn } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import os from 'node:os'
import { fileURLToPath } from 'node:url'
import { NODE_FLAGS } from '../../load/targets/local.js'
import { leashed } from '../../sql/leash.js'
import { until, within } from './until.js'

export const SERVER = fileURLToPath(new URL('../../api/server.js', import.meta.url))

/** Other tests load the machine, too: nothing is refused and nothing times out but where a test asks for it. */
export const PATIENT = {
  MAX_QUEUE_MS: '0',
  MAX_QUEUE_REQUESTS: '1000000',
  MAX_LOOP_DELAY_MS: '0',
  POOL_CONNECT_TIMEOUT_MS: '60000',
  STATEMENT_TIMEOUT_MS: '60000',
  REQUEST_TIMEOUT_MS: '60000',
  SHUTDOWN_TIMEOUT_MS: '60000',
}

/**
 * The API as a process of its own, ready, until the test ends.
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string>} [env] settings
 * @param {string[]} [nodeFlags] besides those of `npm start`
 * @returns {Promise<Api>}
 * @throws {Error} with what it says, when it ends
 */
export async function startApi(t, databaseUrl, env = {}, nodeFlags = []) {
  const api = await startUnready(t, databaseUrl, env, nodeFlags)
  await untilReadyz(api, 'ready')
  return api
}

/**
 * The API without waiting until it is ready, for a database that it cannot use.
 * @param {any} t
 * @param {string} databaseUrl
 * @param {Record<string, string>} [env] settings
 * @param {string[]} [nodeFlags] besides those of `npm start`
 * @returns {Promise<Api>}
 * @throws {Error & { exitCode: number }} with what it says, when it ends
 */
export async function startUnready(t, databaseUrl, env = {}, nodeFlags = []) {
  const [program, ...args] = leashed([process.execPath, ...NODE_FLAGS, ...nodeFlags, SERVER], { signal: 'KILL' })
  const child = spawn(program, args, {
    // Where there is no `.env`.
    cwd: os.tmpdir(),
    env: settingsFor(databaseUrl, env),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk) => {
      log += chunk
    })
  }
  const closed = once(child, 'close')
  const isRunning = () => child.exitCode === null && child.signalCode === null
  t.teardown(async () => {
    child.kill('SIGKILL')
    await closed
  })
  const listening = () => log.split('\n').find((line) => line.includes('"msg":"listening"') && line.endsWith('}'))
  await until('the API to listen', () => listening() || !isRunning())
  if (!isRunning()) {
    await closed
    throw Object.assign(new Error(log), { exitCode: child.exitCode })
  }
  const { url, admin_url } = JSON.parse(listening() ?? '')
  return {
    url: `${url}/user`,
    origin: url,
    adminUrl: admin_url,
    pid: /** @type {number} */ (child.pid),
    log: () => log,
    exited: async () => {
      const [code, signal] = await within('the end of the API', closed)
      return { code, signal }
    },
  }
}

/** The environment of an API. @param {string} databaseUrl @param {Record<string, string>} [env] settings */
export function settingsFor(databaseUrl, env = {}) {
  const ours = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))
  return { ...Object.fromEntries(ours), ...PATIENT, PORT: '0', ADMIN_PORT: '0', DATABASE_URL: databaseUrl, ...env }
}

/**
 * @typedef {object} Api
 * @property {string} url of its users
 * @property {string} origin
 * @property {string} adminUrl origin of /metrics, /healthz and /readyz
 * @property {number} pid
 * @property {() => string} log all that it has printed so far
 * @property {() => Promise<{ code: number | null, signal: string | null }>} exited resolves when it has ended
 */

/**
 * Waits until /readyz says this.
 * @param {{ adminUrl: string | null }} api
 * @param {string} status
 * @returns {Promise<{ code: number, detail?: string }>} code: the answer's
 */
export async function untilReadyz(api, status) {
  /** @type {{ code: number, status: string, detail?: string } | undefined} */
  let found
  const isSo = async () => {
    found = await readyz(api)
    return found.status === status
  }
  await until(`/readyz to say "${status}"`, isSo).catch(({ message }) => {
    throw new Error(`${message}; it says ${JSON.stringify(found)}`)
  })
  return /** @type {NonNullable<typeof found>} */ (found)
}

/** A kept connection would be lost if the service closed it, after some idle seconds, just as the next request was sent. */
const ONCE = { headers: { Connection: 'close' } }

/** @param {{ adminUrl: string | null }} api @returns {Promise<{ code: number, status: string, detail?: string }>} */
export async function readyz({ adminUrl }) {
  const answer = await within('an answer from /readyz', fetch(`${adminUrl}/readyz`, ONCE))
  return { .../** @type {any} */ (await answer.json()), code: answer.status }
}

/** Of a look that took too long. */
export const LATE_LOOK = 'expected an answer within 1000 ms, got none'

/**
 * The next look says ready. One is late where the machine stands still for a second: then the one after it. Nothing else may be said.
 * @param {any} t @param {{ adminUrl: string | null }} api @param {string} [about]
 */
export async function saysReady(t, api, about) {
  /** @type {Awaited<ReturnType<typeof readyz>> | undefined} */
  let found
  await until('a look in time', async () => {
    found = await readyz(api)
    return found.detail !== LATE_LOOK
  })
  t.match(found, { code: 200, status: 'ready' }, about)
}

/** Waits until /readyz says why the database is not available, and not only that a look was late. @param {{ adminUrl: string | null }} api @param {RegExp} why */
export async function untilUnavailable(api, why) {
  await until(`/readyz to say ${why}`, async () => {
    const { code, status, detail = '' } = await readyz(api)
    return code === 503 && status === 'database unavailable' && why.test(detail)
  })
}

/** The value of a counter, which has no line before it counts. @param {{ adminUrl: string | null }} api @param {string} name with its labels */
export function counted(api, name) {
  return metric(api, name).catch((error) => {
    if (/^expected the metric /.test(error.message)) return 0
    throw error
  })
}

/** No answer waits for the log, which comes a moment later. @param {Pick<Api, 'log'> | string} log an API's, or a file @param {RegExp} pattern */
export function logged(log, pattern) {
  const text = () => (typeof log === 'string' ? fs.readFileSync(log, 'utf8') : log.log())
  return until(`${pattern} in the log`, () => pattern.test(text()))
}

/** What an API has logged, but for the line that it is still printing. @param {Pick<Api, 'log'>} api @returns {any[]} */
export function logLines(api) {
  const lines = api.log().split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line))
}

/** @param {string} url @param {unknown} body @param {Record<string, string>} [headers] */
export function post(url, body, headers = { 'Content-Type': 'application/json' }) {
  const raw = typeof body === 'string' || body instanceof Uint8Array
  const text = raw ? /** @type {any} */ (body) : JSON.stringify(body)
  return within(`an answer to POST ${url}`, fetch(url, { method: 'POST', headers, body: text }))
}

let users = 0

/** A user whom nobody has sent yet. */
export function newUser() {
  return { email: `user-${process.pid}-${users++}@redline.test`, password: 'secret' }
}

/**
 * The value of a metric.
 * @param {{ adminUrl: string | null }} api
 * @param {string} name with its labels, if it has any
 * @returns {Promise<number>}
 */
export async function metric(api, name) {
  const answer = await within('an answer from /metrics', fetch(`${api.adminUrl}/metrics`, ONCE))
  const line = (await answer.text()).split('\n').find((line) => line.startsWith(`${name} `))
  if (line === undefined) throw new Error(`expected the metric ${name} in /metrics`)
  return Number(line.slice(name.length + 1))
}

/** @param {{ adminUrl: string | null }} api @param {string} name @param {number} value */
export function untilMetric(api, name, value) {
  return until(`${name} to be ${value}`, async () => (await metric(api, name)) === value)
}
