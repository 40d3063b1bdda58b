import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../flags.js'
import { coresOf, nofileOf } from '../machine.js'
import { freePorts } from '../ports.js'
import { ServiceEnded, startService } from '../service.js'

const ROOT = new URL('../../', import.meta.url)
const SERVER = fileURLToPath(new URL('api/server.js', ROOT))

/** Node's own flags for the API, as `npm start` has them. */
export const NODE_FLAGS = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
  .scripts.start.split(' ')
  .filter((/** @type {string} */ word) => word.startsWith('--'))

const POLL_TIMEOUT_MS = 2000
const STOP_GRACE_MS = 12_000

/** Exit code of the API for "the configuration is wrong". */
const CONFIG_EXIT_CODE = 2

/**
 * Starts the API as a process of its own, on its core, and waits until it says that it is ready. It gets our environment
 * but for what a run decides: database, ports, addresses.
 *
 * @param {object} options
 * @param {string} options.databaseUrl
 * @param {string | null} options.cores for the API alone; null: not pinned
 * @param {NodeJS.ProcessEnv} options.env
 * @param {string} options.logFile takes what it prints
 * @param {string} [options.node] program that runs it; ours unless told otherwise
 * @param {string[]} [options.nodeFlags] of Node, beside those of `npm start`
 * @param {number | string | null} [options.nofile] its limit of open files; null: ours
 * @returns {Promise<import('./index.js').Target>}
 * @throws {UsageError} when it refuses its configuration
 */
export async function openLocal(options) {
  const { databaseUrl, cores, env, logFile, node = process.execPath, nodeFlags = [], nofile = null } = options
  const [port, adminPort] = await freePorts(2)
  const addresses = { HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: String(adminPort) }
  const childEnv = { ...withoutPgVariables(env), ...addresses, DATABASE_URL: databaseUrl }
  const adminUrl = `http://127.0.0.1:${adminPort}`
  const service = await startService('the API', [node, ...NODE_FLAGS, ...nodeFlags, SERVER], {
    cores,
    nofile,
    env: childEnv,
    logFile,
    isReady: () => isReady(adminUrl),
    stopGrace_ms: STOP_GRACE_MS,
  }).catch((error) => {
    const isConfig = error instanceof ServiceEnded && error.code === CONFIG_EXIT_CODE
    throw isConfig ? new UsageError(error.words.replace(/^redline: /, '')) : error
  })
  const { pid } = service
  try {
    const settings = await readBack(adminUrl, pid)
    const url = `http://127.0.0.1:${port}/user`
    const metricsUrl = `${adminUrl}/metrics`
    return { kind: 'local', countsRows: true, url, adminUrl, metricsUrl, cores: coresOf(pid), settings, ...service }
  } catch (error) {
    await service.stop()
    throw error
  }
}

/** @param {string} adminUrl */
async function isReady(adminUrl) {
  const answer = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) }).catch(() => null)
  return answer?.status === 200
}

/**
 * What is set, from the process itself: its own metrics, and the kernel for the limits.
 *
 * @param {string} adminUrl
 * @param {number} pid
 */
async function readBack(adminUrl, pid) {
  const metrics = await (await fetch(`${adminUrl}/metrics`)).text()
  const [, labels] = /^redline_config_info\{(.*)\} 1$/m.exec(metrics) ?? ['', '']
  const settings = [...labels.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => {
    return [name.toUpperCase(), /^\d+$/.test(value) ? Number(value) : value]
  })
  const [, version = null] = /^nodejs_version_info\{version="([^"]*)"/m.exec(metrics) ?? []
  return { ...Object.fromEntries(settings), NOFILE: nofileOf(pid), NODE: version }
}

/** They are the caller's way to some server; the run's database is told by its URL alone. @param {NodeJS.ProcessEnv} env */
function withoutPgVariables(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PG')))
}
