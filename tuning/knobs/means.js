import { readFileSync } from 'node:fs'
import { NotApplied, UsageError } from '../../load/command/errors.js'
import { DRIVERS } from '../../load/generators/drivers/index.js'
import { nodeOf } from '../../load/system/node-versions.js'
import { putDistance, shortestRoundTrip } from './distance.js'
import { poolSizeOf, putPgbouncer } from './pgbouncer.js'
import { ask, plantTrigger } from './session.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Level } from './knobs.js'
 */

const SEMI_SPACE = '--max-semi-space-size='

/** Postgres reports how long it took, so that the way to it does not count. */
const EMPTY_INSERT = "EXPLAIN (ANALYZE, FORMAT JSON) INSERT INTO users (email, password) SELECT '', '' WHERE false"
const DELAY_TRIES = 5
const DELAY_TOLERANCE_MS = 5

/** What a proxy on a busy machine adds, and its timers, in each direction. */
const PROXY_TOLERANCE_MS = 3

/**
 * How a knob is turned.
 *
 * @typedef {object} Means
 * @property {(place: Place, name: string, level: Level) => Place | Promise<Place>} [apply] to the place where the API will start
 * @property {(place: Place, level: Level) => Promise<() => Promise<void>>} [plant] around the place; returns how to remove it
 * @property {(place: Place, level: Level) => Promise<Between>} [between] started between the API and what it uses; it does not see
 *   what is planted
 * @property {(name: string, level: Level) => GeneratorPart} [load]
 * @property {(target: Target, place: Place, name: string, level: Level) => string | Promise<string>} readBack the level in force
 *
 * @typedef {{ place: Place, settings: Record<string, string>, end: () => Promise<void> }} Between settings describe it
 * @typedef {{ driver?: string, fresh_connections?: boolean, unbounded?: boolean }} GeneratorPart
 * @typedef {'environment' | 'prlimit' | 'soft limit' | 'flag' | 'node' | 'session' | 'trigger' | 'proxy' | 'pgbouncer' | 'generator'} By
 */

/** @type {Record<By, Means>} */
export const MEANS = {
  /** An environment variable of the API, which reports in its metrics what it read. */
  environment: {
    apply: (place, name, level) => ({ ...place, env: { ...place.env, [name]: String(level) } }),
    readBack: ({ settings }, _place, name) => String(settings[name]),
  },

  /** Soft and hard limit of open files; the kernel reports what the process has. */
  prlimit: {
    apply: (place, _name, level) => ({ ...place, nofile: Number(level) }),
    readBack: ({ settings }) => String(settings.NOFILE),
  },

  /** The soft limit alone. Node raises it at startup, so the rise is what is read back. */
  'soft limit': {
    apply: (place, _name, level) => ({ ...place, nofile: `${level}:` }),
    readBack: ({ softNofile: soft, settings: { NOFILE } }, _place, _name, level) => {
      return soft === NOFILE ? String(level) : `a soft limit of ${soft} beside a hard one of ${NOFILE}`
    },
  },

  /** A flag of Node, which the kernel shows in the command line of the process. */
  flag: {
    apply: (place, _name, level) => ({ ...place, nodeFlags: [...(place.nodeFlags ?? []), SEMI_SPACE + level] }),
    readBack: ({ words = [] }) => semiSpaceOf(words) ?? 'not set',
  },

  /** Another version of Node; the API reports in its metrics which one runs it. */
  node: {
    apply: async (place, _name, level) => {
      const major = String(level)
      return { ...place, node: await (place.host ? place.host.ask('node', { major }) : nodeOf(major)) }
    },
    readBack: ({ settings }) => String(settings.NODE).replace(/^v(\d+)\..*/, '$1'),
  },

  /** A setting of every session of the API; a session that is opened in the same way reports it. */
  session: {
    apply: (place, name, level) => {
      const url = new URL(place.databaseUrl)
      const options = url.searchParams.get('options')
      const option = `-c ${parameterOf(name)}=${level}`
      url.searchParams.set('options', options ? `${options} ${option}` : option)
      return { ...place, databaseUrl: url.href }
    },
    readBack: async (_target, place, name) => {
      const parameter = parameterOf(name)
      const [row] = await ask(place.databaseUrl, `SHOW ${parameter}`)
      return row[parameter]
    },
  },

  /** A trigger that sleeps once per statement; an insert of no rows shows for how long. */
  trigger: {
    plant: async ({ databaseUrl }, level) => {
      if (Number(level) === 0) return async () => {}
      const statements = readFileSync(new URL('delay.sql', import.meta.url), 'utf8')
      return plantTrigger(databaseUrl, statements.replace('DELAY_S', String(Number(level) / 1000)), 'redline_delay')
    },
    readBack: async (_target, { databaseUrl }, _name, level) => {
      const times_ms = []
      for (let i = 0; i < DELAY_TRIES; i++) {
        const [row] = await ask(databaseUrl, EMPTY_INSERT)
        times_ms.push(row['QUERY PLAN'][0]['Execution Time'])
      }
      const took_ms = Math.min(...times_ms)
      // A sleep takes a little longer than it was asked for; twice as much would not be another level.
      const isInForce = took_ms >= Number(level) && took_ms < 2 * Number(level) + DELAY_TOLERANCE_MS
      return isInForce ? String(level) : took_ms.toFixed(1)
    },
  },

  /** A proxy that delays what goes through it; a statement that asks nothing shows for how long. */
  proxy: {
    between: async (place, level) => (Number(level) === 0 ? nothingBetween(place) : putDistance(place, Number(level))),
    readBack: async (_target, { databaseUrl }, _name, level) => {
      if (Number(level) === 0) return String(level)
      const shortest_ms = await shortestRoundTrip(databaseUrl)
      const isInForce = shortest_ms >= Number(level) && shortest_ms < Number(level) + PROXY_TOLERANCE_MS
      return isInForce ? String(level) : shortest_ms.toFixed(1)
    },
  },

  /** A pool that many processes share; it reports its own size. */
  pgbouncer: {
    between: async (place, level) => {
      return Number(level) === 0 ? nothingBetween(place) : putPgbouncer(place, Number(level))
    },
    readBack: (_target, { databaseUrl }, _name, level) => {
      return Number(level) === 0 ? String(level) : poolSizeOf(databaseUrl)
    },
  },

  /** How the generator loads the API; each trial's record has it. */
  generator: {
    apply: (place, name, level) => {
      const { driver } = generatorPart(name, level)
      try {
        if (driver) DRIVERS[driver].check?.({ url: 'http://127.0.0.1', method: 'POST' })
      } catch (error) {
        throw error instanceof UsageError ? new NotApplied(error.message) : error
      }
      return place
    },
    load: generatorPart,
    readBack: (_target, _place, _name, level) => String(level),
  },
}

/** @param {Place} place @returns {Between} */
const nothingBetween = (place) => ({ place, settings: {}, end: async () => {} })

/** @param {string} name @param {Level} level @returns {GeneratorPart} */
function generatorPart(name, level) {
  if (name === 'CONNECTIONS') return { fresh_connections: level === 'fresh' }
  return level === 'paced' ? {} : { driver: 'vegeta', unbounded: level === 'vegeta-unbounded' }
}

/** The last of the same flags counts for Node. @param {string[]} words */
export function semiSpaceOf(words) {
  return words.findLast((word) => word.startsWith(SEMI_SPACE))?.slice(SEMI_SPACE.length)
}

/** Postgres' parameter, whose name has no unit. @param {string} name of the knob */
function parameterOf(name) {
  return name.toLowerCase().replace(/_us$/, '')
}
