import { readFileSync } from 'node:fs'
import { NotApplied, UsageError } from '../../load/command/errors.js'
import { DRIVERS } from '../../load/generators/drivers/index.js'
import { nodeOf } from '../../load/system/node-versions.js'
import { poolSizeOf, putPgbouncer } from './pgbouncer.js'
import { openSession } from './session.js'

/**
 * @import { Client } from 'pg'
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Level } from './knobs.js'
 */

const SEMI_SPACE = '--max-semi-space-size='

/** Of the time that an empty insert takes beyond an empty question, which has the same way. */
const DELAY_TOLERANCE_MS = 0.5

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
 */

/** @satisfies {Record<string, Means>} */
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
    readBack: ({ softNofile: soft, settings }, _place, _name, level) => {
      return soft === settings.NOFILE
        ? String(level)
        : `a soft limit of ${soft} beside a hard one of ${settings.NOFILE}`
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
      const { rows } = await inSession(place.databaseUrl, (session) => session.query(`SHOW ${parameter}`))
      return rows[0][parameter]
    },
  },

  /** A trigger that sleeps once per statement; an insert of no rows shows how long it takes. */
  trigger: {
    plant: async ({ databaseUrl }, level) => {
      if (Number(level) === 0) return async () => {}
      const statements = readFileSync(new URL('delay.sql', import.meta.url), 'utf8')
      const session = await openSession(databaseUrl)
      try {
        await session.query(statements.replace('DELAY_S', String(Number(level) / 1000)))
      } catch (error) {
        await session.end()
        throw error
      }
      return async () => {
        await session.query('DROP FUNCTION pg_temp.redline_delay CASCADE').finally(() => session.end())
      }
    },
    readBack: async (_target, { databaseUrl }, _name, level) => {
      const took_ms = await inSession(databaseUrl, emptyInsert)
      // A difference of two times, each a little off: half of it is not nothing, and twice as much is not another level.
      const isInForce = took_ms >= Number(level) / 2 && took_ms < 2 * Number(level) + 10 * DELAY_TOLERANCE_MS
      return isInForce ? String(level) : took_ms.toFixed(1)
    },
  },

  /** A pool that many processes share; it reports its own size. */
  pgbouncer: {
    between: async (place, level) => {
      return Number(level) === 0 ? { place, settings: {}, end: async () => {} } : putPgbouncer(place, Number(level))
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

/** What an insert of no rows takes beyond the way there, in milliseconds. @param {Client} session */
async function emptyInsert(session) {
  const insert_ms = await leastTime_ms(session, "INSERT INTO users (email, password) SELECT '', '' WHERE false")
  return Math.max(0, insert_ms - (await leastTime_ms(session, 'SELECT 1')))
}

/** Of a few. @param {Client} session @param {string} statement */
async function leastTime_ms(session, statement) {
  const times_ms = []
  for (let i = 0; i < 5; i++) {
    const start_ms = performance.now()
    await session.query(statement)
    times_ms.push(performance.now() - start_ms)
  }
  return Math.min(...times_ms)
}

/** @template T @param {string} databaseUrl @param {(session: Client) => Promise<T>} work */
async function inSession(databaseUrl, work) {
  const session = await openSession(databaseUrl)
  try {
    return await work(session)
  } finally {
    await session.end()
  }
}
