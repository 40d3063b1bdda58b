import { DRIVERS } from '../../load/generators/drivers/index.js'
import { putDistance, shortestRoundTrip } from '../../load/system/between.js'
import { nodeOf } from '../../load/system/node-versions.js'
import { addIndexes, fillTable } from './growth.js'
import { poolSizeOf, putPgbouncer } from './pgbouncer.js'
import { ask, plantTrigger } from './session.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Level } from './knobs.js'
 * @import { Cell } from '../../load/report/record.js'
 */

const SEMI_SPACE = '--max-semi-space-size='

const EXTRA_INDEXES =
  "SELECT count(*)::int AS number FROM pg_index WHERE indrelid = 'users'::regclass AND NOT indisprimary"

/** Postgres reports the execution time itself, so the network does not count. */
const EMPTY_INSERT = "EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO users (email, password) SELECT '', '' WHERE false"
const DELAY_TRIES = 5
const DELAY_TOLERANCE_MS = 5

/** Time that a proxy and its timers may add to a round trip on a busy machine. */
const PROXY_TOLERANCE_MS = 3

/**
 * @typedef {object} Means how a knob is turned, and how its level is read back from what runs
 * @property {(place: Place, level: Level, name: string) => Turned | Promise<Turned>} turn
 * @property {(target: Target, place: Place, level: Level, name: string) => unknown} readBack the level in force, or a promise of it
 * @typedef {Partial<Place> & { settings?: Target['settings'], end?: () => Promise<void>, fill?: Target['fill'] }} Turned changes to the place where
 *   the API will start; settings: describe what was started for the place; end: removes it; fill: fills the table before each trial
 * @typedef {'environment' | 'prlimit' | 'soft limit' | 'flag' | 'node' | 'session' | 'indexes' | 'rows' | 'trigger' | 'proxy' | 'pgbouncer' | 'generator'} By
 */

/**
 * Means, in the order in which they are applied: a trigger needs a session of its own, so it is planted before anything is put in between.
 * @type {Record<By, Means>}
 */
export const MEANS = {
  /** An environment variable of the API, which reports in its metrics what it read. */
  environment: {
    turn: ({ env }, level, name) => ({ env: { ...env, [name]: String(level) } }),
    readBack: ({ settings }, _place, _level, name) => settings[name],
  },

  /** Soft and hard limit of open files; the kernel reports what the process has. */
  prlimit: {
    turn: (_place, level) => ({ nofile: Number(level) }),
    readBack: ({ settings }) => settings.NOFILE,
  },

  /** The soft limit only. Node raises it at startup, so the raised limit is what is read back. */
  'soft limit': {
    turn: (_place, level) => ({ nofile: `${level}:` }),
    readBack: ({ softNofile: soft, settings: { NOFILE } }, _place, level) => {
      return soft === NOFILE ? level : `a soft limit of ${soft} beside a hard one of ${NOFILE}`
    },
  },

  /** A flag of Node, which the kernel shows in the command line of the process. */
  flag: {
    turn: ({ nodeFlags = [] }, level) => ({ nodeFlags: [...nodeFlags, SEMI_SPACE + level] }),
    readBack: ({ words = [] }) => semiSpaceOf(words) ?? 'not set',
  },

  /** Another version of Node; the API reports in its metrics which version runs it. */
  node: {
    turn: async ({ host }, level) => {
      return { node: await (host ? host.ask('node', { major: String(level) }) : nodeOf(String(level))) }
    },
    readBack: ({ settings }) => String(settings.NODE).replace(/^v(\d+)\..*/, '$1'),
  },

  /** A setting of every session of the API; a session that is opened in the same way reports it. */
  session: {
    turn: ({ databaseUrl }, level, name) => {
      const url = new URL(databaseUrl)
      const options = url.searchParams.get('options') ?? ''
      url.searchParams.set('options', `${options} -c ${name.toLowerCase()}=${level}`.trim())
      return { databaseUrl: url.href }
    },
    readBack: async (_target, { databaseUrl }, _level, name) => {
      const [row] = await ask(databaseUrl, `SHOW ${name}`)
      return row[name.toLowerCase()]
    },
  },

  /** Indexes in addition to the primary key; the catalogue lists them. */
  indexes: {
    turn: unlessZero(async ({ databaseUrl }, number) => ({ end: await addIndexes(databaseUrl, number) })),
    readBack: async (_target, { databaseUrl }) => {
      const [{ number }] = await ask(databaseUrl, EXTRA_INDEXES)
      return number
    },
  },

  /** Rows that are in the table before each trial; each trial's count of rows shows them. */
  rows: {
    turn: unlessZero(({ databaseUrl }, rows) => ({ fill: (signal) => fillTable(databaseUrl, rows, signal) })),
    readBack: (_target, _place, level) => level,
  },

  /** A trigger that sleeps once per statement; an insert of no rows shows for how long. */
  trigger: {
    turn: unlessZero(async ({ databaseUrl }, delay_ms) => {
      const delay = `PERFORM pg_sleep(${delay_ms / 1000});`
      return { end: await plantTrigger(databaseUrl, 'redline_delay', 'STATEMENT', delay) }
    }),
    readBack: async (_target, { databaseUrl }, level) => {
      const times_ms = []
      for (let i = 0; i < DELAY_TRIES; i++) {
        const [row] = await ask(databaseUrl, EMPTY_INSERT)
        times_ms.push(row['QUERY PLAN'][0]['Execution Time'])
      }
      // A sleep takes a little longer than requested; even twice as long is not another level.
      return inForce(level, Math.min(...times_ms), 2 * Number(level) + DELAY_TOLERANCE_MS)
    },
  },

  /** A proxy that delays all traffic; an empty statement shows for how long. */
  proxy: {
    turn: unlessZero(putDistance),
    readBack: async (_target, { databaseUrl }, level) => {
      return level === 0 ? level : distanceInForce(Number(level), await shortestRoundTrip(databaseUrl))
    },
  },

  /** A pool that many processes share; it reports its own size. */
  pgbouncer: {
    turn: unlessZero(putPgbouncer),
    readBack: (_target, { databaseUrl }, level) => (level === 0 ? level : poolSizeOf(databaseUrl)),
  },

  /** A change to the generator's load (see loadOf); each trial's record contains it. */
  generator: {
    turn: (_place, level, name) => {
      const { driver } = loadOf({ [name]: level })
      if (driver) DRIVERS[driver].check?.({ url: 'http://127.0.0.1', method: 'POST' })
      return {}
    },
    readBack: (_target, _place, level) => level,
  },
}

/**
 * A knob that adds something, of which level 0 adds nothing.
 * @param {(place: Place, amount: number) => Turned | Promise<Turned>} add @returns {Means['turn']}
 */
function unlessZero(add) {
  return (place, level) => (level === 0 ? {} : add(place, Number(level)))
}

/**
 * The added round trip (ms), or what was measured instead. Each of the proxy's two ways may be half a millisecond short, but half the
 * level is another level.
 * @param {number} level @param {number} found_ms
 */
export function distanceInForce(level, found_ms) {
  return inForce(level, found_ms, level + PROXY_TOLERANCE_MS, Math.max(level - 1, level / 2))
}

/**
 * The level, or the time that was measured instead.
 * @param {Level} level @param {number} found_ms @param {number} below_ms @param {number} [from_ms]
 */
function inForce(level, found_ms, below_ms, from_ms = Number(level)) {
  return found_ms >= from_ms && found_ms < below_ms ? level : found_ms.toFixed(1)
}

/**
 * Changes that the generator's knobs make to a load.
 * @type {Record<string, Record<Level, { driver?: string, fresh_connections?: boolean, unbounded?: boolean, checkpoint?: boolean, vacuum?: boolean }>>}
 */
const LOADS = {
  CONNECTIONS: { kept: { fresh_connections: false }, fresh: { fresh_connections: true } },
  GENERATOR: {
    paced: {},
    vegeta: { driver: 'vegeta', unbounded: false },
    'vegeta-unbounded': { driver: 'vegeta', unbounded: true },
  },
  UPKEEP: { none: {}, checkpoint: { checkpoint: true }, vacuum: { vacuum: true } },
}

/** Changes to the generator's load for this cell. @param {Cell} cell @returns {typeof LOADS[string][Level]} */
export function loadOf(cell) {
  return Object.assign({}, ...Object.entries(cell).map(([name, level]) => LOADS[name]?.[level]))
}

/** Reads the last of several equal flags, as Node does. @param {string[]} words */
export function semiSpaceOf(words) {
  return words.findLast((word) => word.startsWith(SEMI_SPACE))?.slice(SEMI_SPACE.length)
}
