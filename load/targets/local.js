import { closeSync, openSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { UsageError } from '../flags.js'
import { coresOf, nofileOf } from '../machine.js'
import { startChild } from '../processes.js'

const ROOT = new URL('../../', import.meta.url)
const SERVER = fileURLToPath(new URL('api/server.js', ROOT))

/** Node's own flags for the API, as `npm start` has them. */
const NODE_FLAGS = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8'))
  .scripts.start.split(' ')
  .filter((/** @type {string} */ word) => word.startsWith('--'))

const START_TIMEOUT_MS = 10_000
const POLL_MS = 20
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
 * @returns {Promise<import('./index.js').Target>}
 * @throws {UsageError} when it refuses its configuration
 */
export async function openLocal({ databaseUrl, cores, env, logFile }) {
  const [port, adminPort] = [await getPort({ host: '127.0.0.1' }), await getPort({ host: '127.0.0.1' })]
  const addresses = { HOST: '127.0.0.1', ADMIN_HOST: '127.0.0.1', PORT: String(port), ADMIN_PORT: String(adminPort) }
  const childEnv = { ...withoutPgVariables(env), ...addresses, DATABASE_URL: databaseUrl }
  const log = openSync(logFile, 'a')
  const command = [process.execPath, ...NODE_FLAGS, SERVER]
  const { child, exited, stop } = startChild(command, { cores, env: childEnv, stdio: ['ignore', log, log] })
  closeSync(log)

  let stopping = false
  const died = exited.then(({ code, signal }) => {
    if (stopping) return /** @type {Promise<never>} */ (new Promise(() => {}))
    throw endedEarly(code, signal, logFile)
  })
  died.catch(() => {})
  const stopNow = async () => {
    stopping = true
    await stop(STOP_GRACE_MS)
  }
  const adminUrl = `http://127.0.0.1:${adminPort}`
  try {
    await Promise.race([untilReady(adminUrl, logFile, child), died])
    const pid = /** @type {number} */ (child.pid)
    const settings = await readBack(adminUrl, pid)
    const url = `http://127.0.0.1:${port}/user`
    return { kind: 'local', countsRows: true, url, adminUrl, pid, cores: coresOf(pid), settings, died, stop: stopNow }
  } catch (error) {
    await stopNow()
    throw error
  }
}

/** @param {string} adminUrl @param {string} logFile @param {import('node:child_process').ChildProcess} child */
async function untilReady(adminUrl, logFile, child) {
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until; ) {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ready = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(POLL_TIMEOUT_MS) }).catch(() => null)
    if (ready?.status === 200) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`the API was not ready within ${START_TIMEOUT_MS / 1000} s; its last words: ${lastWords(logFile)}`)
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
  return { ...Object.fromEntries(settings), NOFILE: nofileOf(pid) }
}

/** @param {number | null} code @param {string | null} signal @param {string} logFile */
function endedEarly(code, signal, logFile) {
  const words = lastWords(logFile)
  if (code === CONFIG_EXIT_CODE) return new UsageError(words.replace(/^redline: /, ''))
  return new Error(`the API ended by itself (${signal ?? `code ${code}`}); its last words: ${words}`)
}

/** @param {string} logFile */
function lastWords(logFile) {
  return readFileSync(logFile, 'utf8').trim().split('\n').at(-1) || '(none)'
}

/** They are the caller's way to some server; the run's database is told by its URL alone. @param {NodeJS.ProcessEnv} env */
function withoutPgVariables(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PG')))
}
