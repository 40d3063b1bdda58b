import { namespaceProblem } from './namespace.js'
import { crowd, squeezeGenerator } from './neighbours.js'
import { holdLock, millisecondRow, takeConnections, trigger } from './postgres.js'
import { quotaProblem, throttleApi, throttlePostgres } from './quota.js'

/** @import { Cell, StepLoad } from '../../../load/report/record.js' */

/**
 * Real faults, one for each resource that a diagnosis must be able to name, planted around the service and not in it. Under the
 * load given with each fault, the service easily meets its SLO while nothing is planted.
 * @typedef {{ resource: string, about: string, settings?: Record<string, string>, nodeFlags?: string[], preload?: string,
 *   nofile?: number, load?: FaultyLoad, namespace?: boolean, plant?: Plant, proxy?: string, problem?: () => string | null,
 *   here?: boolean, dosed?: boolean, hard?: boolean, alike?: string }} Fault resource: the one that
 *   the diagnosis must name; settings, nodeFlags, preload (in preload.js) and nofile: of the API; load: differences from 1,000/s over
 *   64 connections; namespace: API, Postgres and lab run in a network namespace of their own; proxy: in front of the API, in proxy.js;
 *   problem: why this machine cannot plant it; here: can be planted, or seen, only if the API runs on this machine; dosed: a proof by
 *   dose must reach the same name, since the fault limits the throughput; hard: planted only with a proof, since counters alone may be
 *   wrong; alike: a resource that is an equally good answer
 * @typedef {Partial<Pick<StepLoad, 'rate_rps' | 'connections' | 'connections_needed' | 'fresh_connections' | 'nofile'>>} FaultyLoad
 *   nofile: of the generator
 * @typedef {(place: { databaseUrl: string, api: Process, generator: Process }) => Promise<() => Promise<void>>} Plant plants the
 *   fault when everything is up and the table is empty, before the warm-up; resolves to a function that removes it. No fault outlives us
 * @typedef {{ pid: number, cores: string | null }} Process cores: null if nothing is pinned
 */

/** V8 reports neither incremental marking nor the work of its helper threads; with these flags it stops the program and marks in one go. */
const SMALL_HEAP = ['--max-old-space-size=168', '--max-semi-space-size=2', '--no-incremental-marking']

/** A fault that only a proof can name for sure. @template F @param {F} fault */
const hard = (fault) => ({ ...fault, dosed: true, hard: true })

/** A quota of CPU, which not every machine can set. @param {Plant} plant */
const quota = (plant) => ({ plant, problem: quotaProblem, here: true })

/**
 * Has Postgres wait before it flushes a commit (xlog.c, XLogFlush), for each transaction that inserts and no other. A dose of a proof,
 * which sets the same for all sessions, adds to it.
 */
const SLOW_COMMIT = `PERFORM set_config('commit_delay', (current_setting('commit_delay')::int + 20000)::text, true);
  SET LOCAL commit_siblings = 0;`

/** Overlapping work in the API and in Postgres. @param {string} preload */
const pair = (preload) => ({
  settings: { INSERT_MODE: 'prepared' },
  preload,
  load: { rate_rps: 2000 },
  plant: millisecondRow,
  here: true,
})

/** The faults, by name. @type {Record<string, Fault>} */
export const FAULTS = {
  'spinning-handler': {
    resource: 'api-cpu',
    about: 'each POST burns 1 ms more of the API core',
    dosed: true,
    preload: 'spin=1',
    load: { rate_rps: 2000 },
  },
  'synchronous-scrypt': {
    resource: 'api-blocked',
    about: 'passwords are hashed on the event loop',
    dosed: true,
    settings: { PASSWORD_STORAGE: 'scrypt' },
    preload: 'sync-scrypt',
    load: { rate_rps: 12 },
  },
  'asynchronous-scrypt': {
    resource: 'api-threadpool',
    about: "passwords are hashed on libuv's four threads",
    settings: { PASSWORD_STORAGE: 'scrypt' },
    load: { rate_rps: 12 },
  },
  'small-heap': {
    resource: 'api-gc',
    about: 'a cache fills most of a small heap, and requests leave garbage in the rest',
    dosed: true,
    nodeFlags: SMALL_HEAP,
    preload: 'small-heap',
    load: { rate_rps: 1800 },
  },
  'cpu-quota': {
    resource: 'api-quota',
    about: 'the control group of the API may use 5 ms of CPU in every 100 ms',
    dosed: true,
    load: { rate_rps: 2000 },
    ...quota(throttleApi(5)),
  },
  'postgres-cpu-quota': {
    resource: 'postgres-quota',
    about: 'the control group of Postgres may use 5 ms of CPU in every 100 ms',
    dosed: true,
    settings: { INSERT_MODE: 'prepared' },
    load: { rate_rps: 2000 },
    ...quota(throttlePostgres(5)),
  },
  'pool-of-one': {
    resource: 'pool-size',
    about: 'one database connection, and statements of 5 ms',
    dosed: true,
    settings: { POOL_MAX: '1', INSERT_MODE: 'prepared' },
    load: { rate_rps: 300 },
    plant: trigger('PERFORM pg_sleep(0.005);'),
  },
  'impatient-pool': {
    resource: 'pool-timeout',
    about: 'nobody waits longer than 5 ms for a database connection, and one statement in ten takes 40 ms',
    settings: { POOL_MAX: '2', POOL_CONNECT_TIMEOUT_MS: '5', INSERT_MODE: 'prepared' },
    preload: 'patient-connect',
    load: { rate_rps: 150 },
    plant: trigger('IF random() < 0.1 THEN PERFORM pg_sleep(0.04); END IF;'),
  },
  'expensive-trigger': {
    resource: 'postgres-cpu',
    about: 'each row costs Postgres 1 ms of CPU',
    dosed: true,
    load: { rate_rps: 1500 },
    plant: trigger('PERFORM sum(i) FROM generate_series(1, 10000) AS i;', 'ROW'),
    here: true,
  },
  'slow-commits': {
    resource: 'postgres-commit',
    about: 'Postgres waits 20 ms before it flushes a commit',
    dosed: true,
    settings: { INSERT_MODE: 'prepared' },
    load: { rate_rps: 2000 },
    plant: trigger(SLOW_COMMIT),
  },
  'held-lock': {
    resource: 'postgres-lock',
    about: 'the table is locked for 400 of every 500 ms',
    dosed: true,
    plant: holdLock({ held_ms: 400, free_ms: 100 }),
  },
  'connections-taken': {
    resource: 'postgres-connections',
    about: 'every connection of Postgres is taken by others',
    settings: { INSERT_MODE: 'prepared' },
    plant: takeConnections,
  },
  'few-files': {
    resource: 'nofile',
    about: 'the API may open 64 files',
    nofile: 64,
  },
  'connection-limit': {
    resource: 'max-connections',
    about: 'the API accepts 16 connections, and the generator opens 64',
    settings: { MAX_CONNECTIONS: '16' },
  },
  'short-backlog': {
    resource: 'accept-queue',
    about: 'an accept queue of one, and a new connection for every request',
    settings: { LISTEN_BACKLOG: '1' },
    load: { rate_rps: 1500, fresh_connections: true, connections: 200 },
  },
  'hasty-keep-alive': {
    resource: 'keep-alive-race',
    about: 'idle client connections are closed after 1 ms',
    settings: { KEEP_ALIVE_TIMEOUT_MS: '1' },
    preload: 'exact-keep-alive',
    load: { rate_rps: 2000, connections: 16 },
  },
  limiter: {
    resource: 'rate-limit',
    about: 'a proxy answers 429 to what exceeds 400/s',
    proxy: 'limiter',
  },
  'long-line': {
    resource: 'network',
    about: 'a proxy adds 150 ms, now and then 1 s more, and rarely cuts a connection',
    load: { rate_rps: 200, connections: 300 },
    proxy: 'far',
  },
  'squeezed-generator': {
    resource: 'generator-cpu',
    about: 'the generator has the lowest priority on its core, next to a busy process',
    plant: squeezeGenerator,
    here: true,
  },
  'generator-few-files': {
    resource: 'generator-nofile',
    about: 'the generator may open 64 files and needs 200 connections',
    load: { connections: 200, nofile: 64 },
  },
  'few-connections': {
    resource: 'generator-connections',
    about: 'four connections, for requests that take 5 ms each: 800/s at most',
    settings: { INSERT_MODE: 'prepared' },
    load: { connections: 4, connections_needed: 120 },
    plant: trigger('PERFORM pg_sleep(0.005);'),
  },
  'few-ports': {
    resource: 'generator-ports',
    about: '64 local ports, and about 100 requests at a time, as the database is 40 ms away',
    load: { rate_rps: 2500, connections: 200 },
    namespace: true,
    plant: trigger('PERFORM pg_sleep(0.04);'),
    problem: namespaceProblem,
    here: true,
  },
  'noisy-neighbours': {
    resource: 'machine-noise',
    about: "four busy processes share the API's core",
    load: { rate_rps: 8000 },
    // The four neighbours leave the API a fifth of its core.
    plant: crowd(4),
    here: true,
  },
  'service-before-postgres': hard({
    resource: 'api-cpu',
    about: 'each POST costs the API 2 ms of CPU, and each row costs Postgres 1 ms',
    ...pair('spin=2'),
  }),
  'postgres-before-service': hard({
    resource: 'postgres-cpu',
    about: 'each row costs Postgres 1 ms of CPU, and each POST costs the API 0.5 ms',
    ...pair('spin=0.5'),
  }),
  'service-like-postgres': hard({
    resource: 'api-cpu',
    about: 'each POST costs the API 1 ms of CPU, and each row costs Postgres 1 ms',
    ...pair('spin=1'),
    alike: 'postgres-cpu',
  }),
  'service-near-postgres': hard({
    resource: 'api-cpu',
    about: 'each POST costs the API 1.25 ms of CPU, and each row costs Postgres 1 ms',
    ...pair('spin=1.25'),
    alike: 'postgres-cpu',
  }),
  'crowded-handler': hard({
    resource: 'api-cpu',
    about: 'each POST burns 2 ms of the API core, but only while more than 8 are in flight',
    preload: 'crowded=8',
    load: { rate_rps: 4000 },
  }),
  'short-lock': hard({
    resource: 'postgres-lock',
    about: 'each statement holds the same lock for 2 ms, which shows only where statements meet',
    settings: { INSERT_MODE: 'prepared' },
    load: { rate_rps: 2000 },
    plant: trigger("PERFORM pg_advisory_xact_lock(hashtext('redline_fault')); PERFORM pg_sleep(0.002);"),
  }),
  'one-at-a-time': hard({
    resource: 'lock-step',
    about: 'a lock in the service: one request at a time costs it 1 ms of CPU, then Postgres 1 ms',
    ...pair('one-at-a-time'),
  }),
  'often-held-lock': hard({
    resource: 'postgres-lock',
    about: 'the table is locked for 60 of every 80 ms',
    settings: { INSERT_MODE: 'prepared' },
    load: { rate_rps: 4000 },
    plant: holdLock({ held_ms: 60, free_ms: 20 }),
  }),
  'postgres-larger-quota': hard({
    resource: 'postgres-quota',
    about: 'the control group of Postgres may use 20 ms of CPU in every 100 ms',
    settings: { INSERT_MODE: 'prepared' },
    load: { rate_rps: 8000 },
    ...quota(throttlePostgres(20)),
  }),
  none: {
    resource: 'none-reached',
    about: 'nothing is planted',
  },
}

/** The limit that a cell relaxes. @param {Cell | null} cell @returns {Cell | null} null if only the fault is planted */
export function notchOf(cell) {
  const { fault, ...notch } = cell ?? {}
  return Object.keys(notch).length > 0 ? notch : null
}
