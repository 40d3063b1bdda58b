import { closeSync, openSync } from 'node:fs'
import net from 'node:net'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { coresOf, nofileOf } from '../../load/machine.js'
import { startChild } from '../../load/processes.js'
import { openLocal } from '../../load/targets/index.js'

const PEERS = new URL('../peers/', import.meta.url)
const START_TIMEOUT_MS = 10_000
const POLL_MS = 20
const STOP_GRACE_MS = 1000

/** Database connections of everybody who has a pool: the API's default, and the article's best. */
const POOL_MAX = '20'

/**
 * Starts a contender as a process of its own, on the core of the service under test.
 *
 * @param {import('./contenders.js').Contender} contender
 * @param {import('../../load/run.js').Place} place
 * @returns {Promise<import('../../load/targets/index.js').Target>}
 */
export function openContender(contender, place) {
  if (!contender.file) {
    const env = { ...place.env, INSERT_MODE: contender.insertMode, POOL_MAX, LOG_LEVEL: 'warn' }
    return openLocal({ ...place, env })
  }
  return openPeer(contender.file, contender.kind !== 'floor', place)
}

/**
 * @param {string} file
 * @param {boolean} countsRows
 * @param {import('../../load/run.js').Place} place
 * @returns {Promise<import('../../load/targets/index.js').Target>}
 */
async function openPeer(file, countsRows, { databaseUrl, cores, env, logFile }) {
  const port = await getPort({ host: '127.0.0.1' })
  const settings = { PORT: String(port), DATABASE_URL: databaseUrl, POOL_MAX, NODE_ENV: 'production' }
  const log = openSync(logFile, 'a')
  const { child, exited, stop } = startChild([process.execPath, fileURLToPath(new URL(file, PEERS))], {
    cores,
    env: { ...env, ...settings },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  let stopping = false
  const died = exited.then(({ code, signal }) => {
    if (stopping) return /** @type {Promise<never>} */ (new Promise(() => {}))
    throw new Error(`${file} ended by itself (${signal ?? `code ${code}`}); ${logFile} has its last words`)
  })
  died.catch(() => {})
  const stopNow = async () => {
    stopping = true
    await stop(STOP_GRACE_MS)
  }
  try {
    await Promise.race([untilListening(port), died])
  } catch (error) {
    await stopNow()
    throw error
  }
  const pid = /** @type {number} */ (child.pid)
  return {
    kind: 'local',
    countsRows,
    url: `http://127.0.0.1:${port}/user`,
    adminUrl: null,
    pid,
    cores: coresOf(pid),
    settings: { POOL_MAX: countsRows ? Number(POOL_MAX) : null, NOFILE: nofileOf(pid) },
    died,
    stop: stopNow,
  }
}

/** @param {number} port */
async function untilListening(port) {
  for (const until = Date.now() + START_TIMEOUT_MS; Date.now() < until; ) {
    const connected = await new Promise((resolve) => {
      const socket = net.connect(port, '127.0.0.1')
      socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
      socket.on('connect', () => socket.destroy())
    })
    if (connected) return
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  throw new Error(`nothing listened on port ${port} within ${START_TIMEOUT_MS / 1000} s`)
}
