import net from 'node:net'
import { fileURLToPath } from 'node:url'
import getPort from 'get-port'
import { coresOf, nofileOf } from '../../../load/system/machine.js'
import { startService } from '../../../load/system/service.js'
import { NODE_FLAGS, openLocal } from '../../../load/targets/index.js'

/**
 * @import { Place } from '../../../load/run/bench.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Contender } from './contenders.js'
 */

const PEERS = new URL('peers/', import.meta.url)
const STOP_GRACE_MS = 1000

/** Database connections of everybody who has a pool: the API's default, and the article's best. */
const POOL_MAX = '20'

/**
 * Starts a contender as a process of its own, on the core of the service under test.
 *
 * @param {Contender} contender
 * @param {Place} place
 * @returns {Promise<Target>}
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
 * @param {Place} place
 * @returns {Promise<Target>}
 */
async function openPeer(file, countsRows, { databaseUrl, cores, env, logFile }) {
  const port = await getPort({ host: '127.0.0.1' })
  const settings = { PORT: String(port), DATABASE_URL: databaseUrl, POOL_MAX, NODE_ENV: 'production' }
  const command = [process.execPath, ...NODE_FLAGS, fileURLToPath(new URL(file, PEERS))]
  const service = await startService(file, command, {
    cores,
    env: { ...env, ...settings },
    logFile,
    isReady: () => isListening(port),
    stopGrace_ms: STOP_GRACE_MS,
  })
  return {
    kind: 'local',
    countsRows,
    url: `http://127.0.0.1:${port}/user`,
    adminUrl: null,
    metricsUrl: null,
    cores: coresOf(service.pid),
    settings: { POOL_MAX: countsRows ? Number(POOL_MAX) : null, NOFILE: nofileOf(service.pid) },
    ...service,
  }
}

/** @param {number} port @returns {Promise<boolean>} */
function isListening(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}
