import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGenerator } from '../../../load/generators/drive.js'
import { count } from '../../../load/report/format.js'
import { startListening } from '../../../load/system/listening.js'
import { nofileOf } from '../../../load/system/machine.js'
import { NODE_FLAGS } from '../../../load/targets/index.js'
import { NULL_SERVER } from '../../../load/verdict/preflight/ceiling.js'
import { openGroup, portsOf } from '../../knobs/group.js'
import { openCell } from '../../knobs/open-cell.js'
import { openDirect, ROWS_PER_COMMIT } from './direct/direct.js'
import { CROWDS, FAR_CONNECTIONS, SATURATION_CONNECTIONS } from './tables.js'

/**
 * @import { NotApplied } from '../../../load/command/errors.js'
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Cell, Plan } from '../../../load/report/record.js'
 */

/** Database connections of every server with a pool: the API's default, and the article's best. */
const POOL_MAX = 20

/** Idle contenders give their connections back to the database, which has too few for all contenders at once. */
const IDLE_MS = 2000

/** The first is the reference; a managed database is about as far away as the second. */
const ROUND_TRIPS_MS = [0, 1, 3, 10]

/**
 * floor: stores nothing; far: the API at a longer distance from its database; crowd: the API with so many clients; direct: no service.
 * loads: the kinds of load it gets; connections: of the closed loop; clients: connections of open loops, if not as many as usual;
 * file: in peers/, or elsewhere; cell: settings of the API.
 * @typedef {{ name: string, kind: 'server' | 'floor' | 'far' | 'crowd' | 'direct', about: string, loads: string[],
 *   connections: number, clients?: number, file?: string, cell?: Cell }} Contender
 */

const SERVER = {
  kind: /** @type {const} */ ('server'),
  connections: SATURATION_CONNECTIONS,
  loads: ['saturation', 'low', 'half'],
}
const BUSY = { ...SERVER, loads: [...SERVER.loads, 'busy'] }
const FLOOR = { ...BUSY, kind: /** @type {const} */ ('floor') }
const FAR = { kind: /** @type {const} */ ('far'), connections: FAR_CONNECTIONS, loads: ['saturation', 'low'] }
const CROWD = { ...SERVER, kind: /** @type {const} */ ('crowd'), loads: ['saturation', 'busy', 'over'] }
const DIRECT = { kind: /** @type {const} */ ('direct'), connections: 1, loads: ['saturation'] }

/** @param {string} INSERT_MODE @param {Cell} [others] */
const settings = (INSERT_MODE, others) => {
  return { INSERT_MODE, POOL_MAX, POOL_IDLE_TIMEOUT_MS: IDLE_MS, LOG_LEVEL: 'warn', ...others }
}

/**
 * The API in its modes, the same service on other frameworks and clients, two floors, and the database without a service.
 * @type {Contender[]}
 */
export const CONTENDERS = [
  { ...FLOOR, name: 'no-op', file: NULL_SERVER, about: 'node:http, body drained, a fixed 201: nothing is stored' },
  { ...FLOOR, name: 'json', file: 'json.js', about: 'node:http, body parsed as JSON: nothing is stored' },
  { ...BUSY, name: 'batched', cell: settings('batched'), about: 'this API: requests share statements' },
  { ...SERVER, name: 'pipelined', cell: settings('pipelined'), about: 'this API: pg clients in pipeline mode' },
  { ...SERVER, name: 'prepared', cell: settings('prepared'), about: 'this API: a named statement per request' },
  { ...SERVER, name: 'single', cell: settings('single'), about: 'this API: an unnamed statement per request' },
  { ...SERVER, name: 'article', file: 'article.js', about: 'the article: raw node:http, pg, unnamed statements' },
  { ...SERVER, name: 'postgres.js', file: 'postgres-js.js', about: 'raw node:http, postgres.js' },
  { ...SERVER, name: 'fastify', file: 'fastify.js', about: 'Fastify, pg, prepared statements' },
  { ...SERVER, name: 'hono', file: 'hono.js', about: 'Hono on @hono/node-server, pg, prepared statements' },
  { ...SERVER, name: 'express', file: 'express.js', about: 'Express, pg, prepared statements' },
  ...ROUND_TRIPS_MS.map((ms) => {
    const where = ms === 0 ? 'the database nearby' : `round trips to the database ${ms} ms longer`
    return { ...FAR, name: `rtt-${ms}`, cell: settings('batched', { DB_RTT_MS: ms }), about: `batched, ${where}` }
  }),
  ...CROWDS.map((clients) => {
    const about = `batched, with ${count(clients)} connections`
    return { ...CROWD, name: `crowd-${clients}`, clients, cell: settings('batched'), about }
  }),
  { ...DIRECT, name: 'pgbench', connections: POOL_MAX, about: 'a prepared INSERT and a commit for each row' },
  ...Object.entries(ROWS_PER_COMMIT).map(([name, rows]) => {
    return { ...DIRECT, name, about: `COPY over one connection, a commit for every ${count(rows)} rows` }
  }),
]

/** @param {unknown} name of one of them @returns {Contender} */
export function contenderOf(name) {
  return /** @type {Contender} */ (CONTENDERS.find((one) => one.name === name))
}

const PEERS = fileURLToPath(new URL('peers', import.meta.url))

/**
 * Length of the first load of a process, in trials: V8 keeps optimizing for about five seconds of full load, and a request costs
 * about twice as much CPU in the first second as in the sixth.
 */
const FIRST_LOAD_SHARE = 6

/** @type {WeakMap<Place, Map<string, Target>>} */
const running = new WeakMap()

/**
 * Opens a contender that stays up until the end of the run, next to the others, and warms it up before it is first measured.
 * @param {Contender} contender @param {Place} place the same object for all cells of a run @param {Plan} plan driver: of the closed loops
 * @returns {Promise<Target>} @throws {NotApplied} as openContender does
 */
export async function keepContender(contender, place, plan) {
  if (contender.kind === 'direct') return openContender(contender, place)
  const targets = running.get(place) ?? new Map()
  running.set(place, targets)
  const known = targets.get(contender.name)
  const target = known ?? (await openContender(contender, place))
  targets.set(contender.name, target)
  const kept = { ...target, stop: async () => {} }
  return known ? kept : { ...kept, fill: (signal) => warmUp(contender, target, plan, signal) }
}

/** Stops all kept contenders. @param {Place} place */
export async function closeContenders(place) {
  await Promise.all([...(running.get(place)?.values() ?? [])].map((target) => target.stop()))
}

/** @param {Contender} contender @param {Target} target @param {Plan} plan @param {AbortSignal} signal */
async function warmUp({ connections }, { url }, { driver, mix, timeout_s, duration_s }, signal) {
  const load = { driver, url, mix, trial: 0, rate_rps: null, connections, timeout_s }
  const generator = await startGenerator(load, signal, () => {})
  try {
    await generator.run(FIRST_LOAD_SHARE * duration_s)
  } finally {
    await generator.close()
  }
}

/**
 * Starts a contender as a process of its own, on the core of the service under test.
 * @param {Contender} contender @param {Place} place @returns {Promise<Target>}
 * @throws {NotApplied} if its program is not installed, or a setting that is read back differs
 */
export async function openContender({ name, kind, cell, file }, place) {
  if (cell) return openCell(cell, place)
  if (!file) return openDirect(name, place)
  const { databaseUrl, cores, env, logFile } = place
  const countsRows = kind !== 'floor'
  const pool = { POOL_MAX: String(POOL_MAX), POOL_IDLE_TIMEOUT_MS: String(IDLE_MS) }
  const own = { DATABASE_URL: databaseUrl, ...pool, NODE_ENV: 'production' }
  return openGroup(async (services) => {
    const started = startListening(name, { cores, env: { ...env, ...own }, logFile }, 1, ([port]) => {
      return [process.execPath, ...NODE_FLAGS, path.resolve(PEERS, file), String(port)]
    })
    const [port] = await portsOf(started, services)
    const settings = { POOL_MAX: countsRows ? POOL_MAX : null, NOFILE: nofileOf(Number(services[0].pid)) }
    return { countsRows, url: `http://127.0.0.1:${port}/user`, settings }
  })
}
