import { fileURLToPath } from 'node:url'
import { count } from '../../../load/report/format.js'
import { coresOf, nofileOf } from '../../../load/system/machine.js'
import { isListening, onFreePorts } from '../../../load/system/ports.js'
import { startService } from '../../../load/system/service.js'
import { NODE_FLAGS, openLocal } from '../../../load/targets/index.js'
import { openCell } from '../../knobs/open-cell.js'
import { openDirect, ROWS_PER_COMMIT } from './direct/direct.js'

/**
 * @import { NotApplied } from '../../../load/command/errors.js'
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 */

/**
 * @typedef {{ name: string, kind: 'ours' | 'peer' | 'floor' | 'direct' | 'far', about: string, file?: string,
 *   insertMode?: string, connections?: number, roundTrip_ms?: number }} Contender file: of peers/; none: the API; direct: no service,
 *   with its connections to the database; far: the API with a longer way to its database
 */

/** Database connections of every server with a pool: the API's default, and the article's best. */
const POOL_MAX = '20'

/** The first is the reference; a managed database is about as far away as the second. */
const ROUND_TRIPS_MS = [0, 1, 3, 10]

/**
 * The API in its modes, other people's ways to write the same service, two floors that store nothing, and the database without a
 * service. @type {Contender[]}
 */
export const CONTENDERS = [
  { name: 'no-op', kind: 'floor', file: 'no-op.js', about: 'node:http, body drained, a fixed 201: nothing is stored' },
  { name: 'json', kind: 'floor', file: 'json.js', about: 'node:http, body parsed as JSON: nothing is stored' },
  { name: 'batched', kind: 'ours', insertMode: 'batched', about: 'this API: requests share statements' },
  { name: 'pipelined', kind: 'ours', insertMode: 'pipelined', about: 'this API: pg clients in pipeline mode' },
  { name: 'prepared', kind: 'ours', insertMode: 'prepared', about: 'this API: a named statement per request' },
  { name: 'single', kind: 'ours', insertMode: 'single', about: 'this API: an unnamed statement per request' },
  { name: 'article', kind: 'peer', file: 'article.js', about: 'the article: raw node:http, pg, unnamed statements' },
  { name: 'postgres.js', kind: 'peer', file: 'postgres-js.js', about: 'raw node:http, postgres.js' },
  { name: 'fastify', kind: 'peer', file: 'fastify.js', about: 'Fastify, pg, prepared statements' },
  { name: 'hono', kind: 'peer', file: 'hono.js', about: 'Hono on @hono/node-server, pg, prepared statements' },
  { name: 'express', kind: 'peer', file: 'express.js', about: 'Express, pg, prepared statements' },
  ...ROUND_TRIPS_MS.map((roundTrip_ms) => {
    const about =
      roundTrip_ms === 0
        ? 'batched, the database nearby'
        : `batched, round trips to the database ${roundTrip_ms} ms longer`
    return { name: `rtt-${roundTrip_ms}`, kind: /** @type {const} */ ('far'), roundTrip_ms, about }
  }),
  {
    name: 'pgbench',
    kind: 'direct',
    connections: Number(POOL_MAX),
    about: 'a prepared INSERT and a commit for each row',
  },
  ...Object.entries(ROWS_PER_COMMIT).map(([name, rows]) => {
    const about = `COPY over one connection, a commit for every ${count(rows)} rows`
    return { name, kind: /** @type {const} */ ('direct'), connections: 1, about }
  }),
]

const PEERS = new URL('peers/', import.meta.url)
const STOP_GRACE_MS = 1000

/**
 * Starts a contender as a process of its own, on the core of the service under test.
 * @param {Contender} contender @param {Place} place @returns {Promise<Target>}
 * @throws {NotApplied} where its program is not installed
 */
export async function openContender({ name, file, kind, insertMode, roundTrip_ms }, place) {
  const { databaseUrl, cores, env, logFile } = place
  if (kind === 'direct') return openDirect(name, place)
  if (roundTrip_ms !== undefined) {
    const cell = { INSERT_MODE: 'batched', POOL_MAX: Number(POOL_MAX), LOG_LEVEL: 'silent', DB_RTT_MS: roundTrip_ms }
    return openCell(cell, place)
  }
  if (!file) return openLocal({ ...place, env: { ...env, INSERT_MODE: insertMode, POOL_MAX, LOG_LEVEL: 'warn' } })
  const countsRows = kind !== 'floor'
  const command = [process.execPath, ...NODE_FLAGS, fileURLToPath(new URL(file, PEERS))]
  const { service, ports } = await onFreePorts(1, ([port]) => {
    const settings = { PORT: String(port), DATABASE_URL: databaseUrl, POOL_MAX, NODE_ENV: 'production' }
    return startService(file, command, {
      cores,
      env: { ...env, ...settings },
      logFile,
      isReady: () => isListening(port),
      stopGrace_ms: STOP_GRACE_MS,
    })
  })
  return {
    kind: 'local',
    countsRows,
    url: `http://127.0.0.1:${ports[0]}/user`,
    adminUrl: null,
    metricsUrl: null,
    cores: coresOf(service.pid),
    settings: { POOL_MAX: countsRows ? Number(POOL_MAX) : null, NOFILE: nofileOf(service.pid) },
    ...service,
  }
}
