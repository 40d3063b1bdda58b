import { SETTINGS } from '../../api/settings.js'
import { UsageError } from '../../load/command/errors.js'
import { oneOf, wholeNumber } from '../../load/command/flags.js'
import { nofileOf } from '../../load/system/machine.js'
import { NODE_FLAGS } from '../../load/targets/index.js'
import { semiSpaceOf } from './means.js'

/**
 * @import { Setting } from '../../api/settings.js'
 * @import { By } from './means.js'
 */

/**
 * @typedef {{ by: By, about: string, levels: Level[], expected: string, parse: (text: string) => Level | undefined,
 *   advised: boolean }} Knob levels: the first is the default; expected: completes "expected …"; advised: whether a level may be
 *   recommended, because it costs nothing but what is measured
 * @typedef {string | number} Level
 */

/** The limit of open files of a process that we start without setting one. */
const OWN_NOFILE = nofileOf('self') ?? 1024
const OWN_SEMI_SPACE_MB = Number(semiSpaceOf(NODE_FLAGS) ?? 16)
const OWN_MAJOR = Number(process.versions.node.split('.')[0])

/** Means whose levels may be chosen by speed: nobody else decides them, and they cost no durability. @type {By[]} */
const ADVISED = ['environment', 'flag', 'node']

/** @type {Readonly<Record<string, Knob>>} */
export const KNOBS = Object.freeze({
  // An exercise asks which mode shares statements: its list of knobs must not tell.
  INSERT_MODE: { ...setting('INSERT_MODE', ['prepared', 'pipelined', 'single']), about: 'How rows are stored' },
  POOL_MAX: setting('POOL_MAX', [5, 10, 40, 80]),
  POOL_CONNECT_TIMEOUT_MS: setting('POOL_CONNECT_TIMEOUT_MS', [100, 30000]),
  NOFILE: whole('prlimit', [OWN_NOFILE, 2000, 1024, 700], [32, 2 ** 31], 'open files, soft and hard'),
  SOFT_NOFILE: whole('soft limit', [64], [32, 2 ** 31], 'soft limit of open files, which Node raises again'),
  BATCH_MAX_ROWS: setting('BATCH_MAX_ROWS', [50, 5000]),
  BATCH_SLOTS: setting('BATCH_SLOTS', [1, 2, 8]),
  LISTEN_BACKLOG: setting('LISTEN_BACKLOG', [16, 4096]),
  KEEP_ALIVE_TIMEOUT_MS: setting('KEEP_ALIVE_TIMEOUT_MS', [5000]),
  MAX_QUEUE_MS: setting('MAX_QUEUE_MS', [0, 100]),
  MAX_QUEUE_REQUESTS: setting('MAX_QUEUE_REQUESTS', [100]),
  MAX_LOOP_DELAY_MS: setting('MAX_LOOP_DELAY_MS', [0]),
  MAX_CONNECTIONS: setting('MAX_CONNECTIONS', [100]),
  CONNECTIONS: choice('generator', ['kept', 'fresh'], "the clients' connections: kept, or a new one for each request"),
  GENERATOR: choice('generator', ['paced', 'vegeta', 'vegeta-unbounded'], 'the open-loop generator'),
  DB_DELAY_MS: whole('trigger', [0, 1, 5], [0, 1000], 'simulated distance to the database: added to each statement'),
  DB_RTT_MS: whole('proxy', [0, 1, 3, 10], [0, 1000], 'delay added to each round trip to the database'),
  PGBOUNCER_POOL: whole('pgbouncer', [0, 4, 20], [0, 1000], 'server connections of a PgBouncer in between; 0: none'),
  SYNCHRONOUS_COMMIT: choice('session', ['on', 'off'], 'off: a crash of Postgres loses what was acknowledged'),
  TABLE_ROWS: whole('rows', [0, 1_000_000, 10_000_000], [0, 100_000_000], 'rows in the table before each trial'),
  INDEXES: whole('indexes', [0, 1, 4], [0, 4], 'extra indexes: a unique one on email, then others'),
  UPKEEP: choice('generator', ['none', 'checkpoint', 'vacuum'], 'what Postgres also does in the middle of a trial'),
  PASSWORD_STORAGE: { ...setting('PASSWORD_STORAGE', ['scrypt']), advised: false },
  LOG_LEVEL: { ...setting('LOG_LEVEL', ['debug', 'silent']), advised: false },
  SEMI_SPACE_MB: whole('flag', [OWN_SEMI_SPACE_MB, 16, 1], [1, 1024], "V8's young generation (a half of it)"),
  NODE: whole('node', [OWN_MAJOR, 20, 22, 24, 26], [20, 99], 'version of Node for the API, from npm'),
})

/** `POOL_MAX=5,10` -> { name: 'POOL_MAX', levels: [5, 10] }. @param {string} text @throws {UsageError} */
export function parseKnob(text) {
  const [name, list] = text.split(/=(.*)/s)
  if (!KNOBS[name] || !list) {
    const names = Object.keys(KNOBS).join(', ')
    throw new UsageError(`--knob: expected NAME=LEVEL,LEVEL with one of ${names}, got "${text}"`)
  }
  const { parse, expected } = KNOBS[name]
  const levels = list.split(',').map((one) => {
    const level = parse(one)
    if (level !== undefined) return level
    throw new UsageError(`--knob: expected ${name} to be ${expected}, got "${one}"`)
  })
  if (new Set(levels).size === levels.length) return { name, levels }
  throw new UsageError(`--knob: expected each level of ${name} once, got ${list}`)
}

/** A setting of the API. @param {keyof typeof SETTINGS} name @param {Level[]} others levels besides the default @returns {Knob} */
function setting(name, others) {
  /** @type {Setting} */
  const { default: byDefault, min, max, about, levels: accepted = [] } = SETTINGS[name]
  const levels = [/** @type {Level} */ (byDefault), ...others]
  if (min === undefined || max === undefined) {
    return { ...choice('environment', levels.map(String), about), ...oneOf([...accepted]) }
  }
  return whole('environment', levels.map(Number), [min, max], about)
}

/** @param {By} by @param {number[]} levels @param {[number, number]} range @param {string} about */
function whole(by, levels, range, about) {
  return { by, about, levels: [...new Set(levels)], ...wholeNumber(...range), advised: ADVISED.includes(by) }
}

/** @param {By} by @param {string[]} levels @param {string} about */
function choice(by, levels, about) {
  return { by, about, levels, ...oneOf(levels), advised: ADVISED.includes(by) }
}
