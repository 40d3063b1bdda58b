import { readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { ServiceEnded, UsageError } from '../command/errors.js'
import { readMetrics } from '../probes/metrics.js'
import { coresOf, nofileOf, softNofileOf, textOf } from '../system/machine.js'
import { freePorts } from '../system/ports.js'
import { startService } from '../system/service.js'

/** @import { Target } from './index.js' */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** Node's own flags for the API, as in `npm start`. */
export const NODE_FLAGS = nodeFlagsOf(ROOT)

const POLL_TIMEOUT_MS = 2000
const READ_BACK_TIMEOUT_MS = 10_000
const STOP_GRACE_MS = 12_000

/** Variables that the API would accept from a `.env` (api/config.js). */
const PG_VARIABLES = ['HOST', 'PORT', 'USER', 'PASSWORD', 'DATABASE', 'SSLMODE', 'OPTIONS', 'APPNAME']

/** Exit code of the API for an invalid configuration. */
const CONFIG_EXIT_CODE = 2

/**
 * Starts the API as a process on its core, and waits until it reports that it is ready. It gets the given environment, except for
 * what a run decides: database, ports and addresses.
 * @param {{ databaseUrl: string, cores: string | null, env: NodeJS.ProcessEnv, logFile: string, node?: string, nodeFlags?: string[],
 *   nofile?: number | string | null, listen?: { host: string, port: number } | null, root?: string, start_ms?: number, signal?: AbortSignal }} options cores: for the API alone; null: not
 *   pinned; logFile: takes its output; node: program that runs it, by default ours; nodeFlags: in addition to those of `npm start`;
 *   nofile: its limit of open files; null: ours; listen: address for clients, by default a free port of loopback;
 *   root: of its checkout, by default this one; start_ms: longest wait until it is ready; signal: ends the wait
 * @returns {Promise<Target>} @throws {UsageError} if it refuses its configuration, or cannot reach its database
 */
export async function openLocal(options) {
  const { databaseUrl, cores, env, logFile, node = process.execPath, nodeFlags = [], nofile = null } = options
  const { listen, root = ROOT, start_ms, signal } = options
  const [freePort, adminPort] = await freePorts(2)
  const { host, port } = listen ?? { host: '127.0.0.1', port: freePort }
  const addresses = { HOST: host, ADMIN_HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: String(adminPort) }
  const adminUrl = `http://127.0.0.1:${adminPort}`
  let refusal = ''
  const command = [node, ...nodeFlagsOf(root), ...nodeFlags, path.join(root, 'api/server.js')]
  const service = await startService('the API', command, {
    ...{ cores, nofile, logFile, start_ms, signal, stopGrace_ms: STOP_GRACE_MS },
    env: { ...withoutPgVariables(env), ...addresses, DATABASE_URL: databaseUrl },
    isReady: async () => {
      const problem = await unreadiness(adminUrl)
      if (problem) refusal = `; /readyz says: ${problem}`
      return problem === null
    },
  }).catch((error) => {
    const isConfig = error instanceof ServiceEnded && error.code === CONFIG_EXIT_CODE
    if (isConfig) throw new UsageError(error.words.replace(/^redline: /, ''))
    throw refusal && !(error instanceof ServiceEnded) ? new UsageError(`${error.message}${refusal}`) : error
  })
  const { pid } = service
  const settings = await readBack(adminUrl, pid).catch(async (error) => {
    await service.stop()
    throw error
  })
  return {
    ...service,
    ...{ kind: 'local', countsRows: true, settings, adminUrl, metricsUrl: `${adminUrl}/metrics` },
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}/user`,
    cores: coresOf(pid),
    softNofile: softNofileOf(pid),
    words: (textOf(`/proc/${pid}/cmdline`) ?? '').split('\0'),
  }
}

/** @param {string} root of a checkout @returns {string[]} */
function nodeFlagsOf(root) {
  return JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')).scripts.start.match(/--\S+/g) ?? []
}

/** Reason why the API is not ready, empty if none given; null: it is ready. @param {string} adminUrl @returns {Promise<string | null>} */
async function unreadiness(adminUrl) {
  try {
    const answer = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) })
    const { status, detail } = /** @type {{ status: string, detail?: string }} */ (await answer.json())
    return answer.status === 200 ? null : [status, detail].filter(Boolean).join(': ')
  } catch {
    return ''
  }
}

/** Reads the settings back from the process's metrics, and its limits from the kernel. @param {string} adminUrl @param {number} pid */
async function readBack(adminUrl, pid) {
  const names = ['redline_config_info', 'nodejs_version_info']
  const metrics = await readMetrics(`${adminUrl}/metrics`, names, READ_BACK_TIMEOUT_MS)
  const settings = Object.entries(metrics.labels('redline_config_info')).map(([name, value]) => {
    return [name.toUpperCase(), /^\d+$/.test(value) ? Number(value) : value]
  })
  const { version = null } = metrics.labels('nodejs_version_info')
  return { ...Object.fromEntries(settings), NOFILE: nofileOf(pid), NODE: version }
}

/** Lets only the URL name the database. pg ignores empty variables, but they override a `.env`. @param {NodeJS.ProcessEnv} env */
function withoutPgVariables(env) {
  const others = Object.entries(env).filter(([name]) => !name.startsWith('PG') || name === 'PGPASSFILE')
  return Object.fromEntries([...others, ...PG_VARIABLES.map((name) => [`PG${name}`, ''])])
}
