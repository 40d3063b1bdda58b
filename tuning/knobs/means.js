import { readFileSync } from 'node:fs'
import { NotApplied } from '../../load/command/errors.js'
import { UsageError } from '../../load/command/flags.js'
import { DRIVERS } from '../../load/generators/drivers/index.js'
import { nodeOf } from '../../load/system/node-versions.js'
import { poolSizeOf, putPgbouncer } from './pgbouncer.js'
import { openSession } from './session.js'

/** @import { Client } from 'pg' */

const SEMI_SPACE = '--max-semi-space-size='

/** Of the time that an empty insert takes beyond an empty question, which has the same way. */
const DELAY_TOLERANCE_MS = 0.5

/**
 * The ways to turn a knob.
 *
 * @typedef {object} Means
 * @property {(place: Place, name: string, level: string) => Place | Promise<Place>} [apply] to the place where the API is
 *   going to be started
 * @property {(place: Place, level: string) => Promise<() => Promise<void>>} [plant] around it; what it gives removes it
 * @property {(place: Place, level: string) => Promise<Between>} [between] started between the API and what it uses, of which
 *   what is planted sees nothing
 * @property {(name: string, level: string) => GeneratorPart} [load]
 * @property {(target: Target, place: Place, name: string, level: string) => string | Promise<string>} readBack the level
 *   that is in force
 *
 * @typedef {{ place: Place, settings: Record<string, string>, end: () => Promise<void> }} Between settings tell what it is
 *
 * @typedef {{ driver?: string, fresh_connections?: boolean, unbounded?: boolean }} GeneratorPart
 *
 * @typedef {import('../../load/run/bench.js').Place} Place
 * @typedef {import('../../load/targets/index.js').Target} Target
 */

/** @satisfies {Record<string, Means>} */
export const MEANS = {
  /** A variable of the API, which says in its metrics what it took. */
  environment: {
    apply: (/** @type {Place} */ place, /** @type {string} */ name, /** @type {string} */ level) => {
      return { ...place, env: { ...place.env, [name]: level } }
    },
    readBack: (/** @type {Target} */ { settings }, /** @type {Place} */ _, /** @type {string} */ name) => {
      return String(settings[name])
    },
  },

  /** Soft and hard limit of open files; the kernel says what the process has. */
  prlimit: {
    apply: (/** @type {Place} */ place, /** @type {string} */ _, /** @type {string} */ level) => {
      return { ...place, nofile: Number(level) }
    },
    readBack: (/** @type {Target} */ { settings }) => String(settings.NOFILE),
  },

  /** The soft limit alone. It is not read back as it was set, since Node raises it at start: what is read is its rise. */
  'soft limit': {
    apply: (/** @type {Place} */ place, /** @type {string} */ _, /** @type {string} */ level) => {
      return { ...place, nofile: `${level}:` }
    },
    readBack: (
      /** @type {Target} */ { softNofile: soft, settings },
      /** @type {Place} */ _,
      /** @type {string} */ _name,
      /** @type {string} */ level,
    ) => {
      return soft === settings.NOFILE ? level : `a soft limit of ${soft} beside a hard one of ${settings.NOFILE}`
    },
  },

  /** A flag of Node, which the kernel knows by the command line of the process. */
  flag: {
    apply: (/** @type {Place} */ place, /** @type {string} */ _, /** @type {string} */ level) => {
      return { ...place, nodeFlags: [...(place.nodeFlags ?? []), SEMI_SPACE + level] }
    },
    readBack: (/** @type {Target} */ { words = [] }) => semiSpaceOf(words) ?? 'not set',
  },

  /** Another Node; the API says in its metrics which one runs it. */
  node: {
    apply: async (/** @type {Place} */ place, /** @type {string} */ _, /** @type {string} */ level) => {
      return { ...place, node: await (place.host ? place.host.ask('node', { major: level }) : nodeOf(level)) }
    },
    readBack: (/** @type {Target} */ { settings }) => String(settings.NODE).replace(/^v(\d+)\..*/, '$1'),
  },

  /** synchronous_commit of every session of the API; a session that is opened in the same way says what it has. */
  session: {
    apply: (/** @type {Place} */ place, /** @type {string} */ name, /** @type {string} */ level) => {
      const url = new URL(place.databaseUrl)
      const options = url.searchParams.get('options')
      const option = `-c ${name.toLowerCase()}=${level}`
      url.searchParams.set('options', options ? `${options} ${option}` : option)
      return { ...place, databaseUrl: url.href }
    },
    readBack: async (/** @type {Target} */ _, /** @type {Place} */ place, /** @type {string} */ name) => {
      const setting = name.toLowerCase()
      const { rows } = await inSession(place.databaseUrl, (session) => session.query(`SHOW ${setting}`))
      return rows[0][setting]
    },
  },

  /** A trigger that sleeps once per statement; an insert of no rows says how long it takes. */
  trigger: {
    plant: async (/** @type {Place} */ { databaseUrl }, /** @type {string} */ level) => {
      if (level === '0') return async () => {}
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
    readBack: async (
      /** @type {Target} */ _,
      /** @type {Place} */ { databaseUrl },
      /** @type {string} */ _name,
      /** @type {string} */ level,
    ) => {
      const took_ms = await inSession(databaseUrl, emptyInsert)
      // A difference of two times, each a little off: half of it is not nothing, and twice as much is not another level.
      const isInForce = took_ms >= Number(level) / 2 && took_ms < 2 * Number(level) + 10 * DELAY_TOLERANCE_MS
      return isInForce ? level : took_ms.toFixed(1)
    },
  },

  /** A pool that many processes share, and which says itself how large it is. */
  pgbouncer: {
    between: async (/** @type {Place} */ place, /** @type {string} */ level) => {
      return level === '0' ? { place, settings: {}, end: async () => {} } : putPgbouncer(place, Number(level))
    },
    readBack: (
      /** @type {Target} */ _,
      /** @type {Place} */ { databaseUrl },
      /** @type {string} */ _name,
      /** @type {string} */ level,
    ) => (level === '0' ? level : poolSizeOf(databaseUrl)),
  },

  /** How the generator loads it, which is told with each trial and stands in its record. */
  generator: {
    apply: (/** @type {Place} */ place, /** @type {string} */ name, /** @type {string} */ level) => {
      const { driver } = generatorPart(name, level)
      try {
        if (driver) DRIVERS[driver].check?.({ url: 'http://127.0.0.1', method: 'POST' })
      } catch (error) {
        throw error instanceof UsageError ? new NotApplied(error.message) : error
      }
      return place
    },
    load: generatorPart,
    readBack: (
      /** @type {Target} */ _,
      /** @type {Place} */ _place,
      /** @type {string} */ _name,
      /** @type {string} */ level,
    ) => level,
  },
}

/** @param {string} name @param {string} level @returns {GeneratorPart} */
function generatorPart(name, level) {
  if (name === 'CONNECTIONS') return { fresh_connections: level === 'fresh' }
  return level === 'paced' ? {} : { driver: 'vegeta', unbounded: level === 'vegeta-unbounded' }
}

/** The last of the same flags counts for Node. @param {string[]} words */
export function semiSpaceOf(words) {
  return words.findLast((word) => word.startsWith(SEMI_SPACE))?.slice(SEMI_SPACE.length)
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
