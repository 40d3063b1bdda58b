import { UsageError } from '../../load/command/flags.js'
import { nofileOf } from '../../load/system/machine.js'
import { NODE_FLAGS } from '../../load/targets/index.js'
import { semiSpaceOf } from './means.js'

/** @import { MEANS } from './means.js' */

/**
 * What can be turned.
 *
 * @typedef {object} Knob
 * @property {keyof typeof MEANS} by how it is applied, and read back from what runs
 * @property {string} unit empty for a name
 * @property {string} about one line
 * @property {string[]} levels the first is the default
 * @property {string} expected completes "expected …"
 * @property {(level: string) => boolean} accepts
 * @property {(level: string) => string | null} [refusal] why a level that looks right is refused all the same
 * @property {boolean} advised a level of it may be recommended: it costs nothing but what is measured
 */

/** @type {Readonly<Record<string, Knob>>} */
export const KNOBS = Object.freeze({
  INSERT_MODE: choice(['batched', 'prepared', 'pipelined', 'single'], 'how rows are stored'),
  POOL_MAX: whole('connections', ['20', '5', '10', '40', '80'], [1, 10_000], 'database connections'),
  POOL_CONNECT_TIMEOUT_MS: whole(
    'ms',
    ['2000', '100', '30000'],
    [1, 600_000],
    'longest wait for a database connection',
  ),
  NOFILE: {
    ...whole('files', [...new Set([ownNofile(), '2000', '1024', '700'])], [32, 2 ** 31], 'open files, soft and hard'),
    by: 'prlimit',
    refusal: (level) => (level.includes(':') ? SOFT_ALONE : null),
    advised: false,
  },
  SOFT_NOFILE: {
    ...whole('files', ['64'], [32, 2 ** 31], 'soft limit of open files alone'),
    by: 'soft limit',
    refusal: () => SOFT_ALONE,
    advised: false,
  },
  BATCH_MAX_ROWS: whole('rows', ['500', '50', '5000'], [1, 10_000], 'rows in one statement'),
  BATCH_SLOTS: whole('statements', ['4', '1', '2', '8'], [1, 1000], 'statements on their way at once'),
  LISTEN_BACKLOG: whole('connections', ['511', '16', '4096'], [1, 65_535], 'accept queue'),
  KEEP_ALIVE_TIMEOUT_MS: whole(
    'ms',
    ['65000', '5000'],
    [1, 3_600_000],
    'an idle client connection is closed after this',
  ),
  MAX_QUEUE_MS: whole(
    'ms',
    ['1000', '0', '100'],
    [0, 600_000],
    'longest wait for a turn; beyond it 503 at once; 0: none',
  ),
  MAX_QUEUE_REQUESTS: whole('requests', ['10000', '100'], [1, 1_000_000], 'the same beyond so many that wait'),
  MAX_LOOP_DELAY_MS: whole('ms', ['500', '0'], [0, 600_000], 'the same while the event loop is this late; 0: never'),
  CONNECTIONS: {
    ...choice(['kept', 'fresh'], "the clients' connections: kept, or a new one for each request"),
    by: 'generator',
    advised: false,
  },
  GENERATOR: {
    ...choice(['paced', 'vegeta', 'vegeta-unbounded'], 'what sends an open loop; unbounded: with its own defaults'),
    by: 'generator',
    advised: false,
  },
  DB_DELAY_MS: {
    ...whole('ms', ['0', '1', '5'], [0, 1000], 'a database that far away: each statement takes so much longer'),
    by: 'trigger',
    advised: false,
  },
  PGBOUNCER_POOL: {
    ...whole('connections', ['0', '4', '20'], [0, 1000], 'PgBouncer before Postgres, with so many of its own; 0: none'),
    by: 'pgbouncer',
    advised: false,
  },
  SYNCHRONOUS_COMMIT: {
    ...choice(
      ['on', 'off'],
      'off: 201 does not wait for the disk, and a crash of Postgres loses what was acknowledged',
    ),
    by: 'session',
    advised: false,
  },
  PASSWORD_STORAGE: { ...choice(['plain', 'scrypt'], 'how passwords are stored'), advised: false },
  LOG_LEVEL: { ...choice(['info', 'debug', 'silent'], 'debug: a line per request'), advised: false },
  SEMI_SPACE_MB: {
    ...whole('MiB', [semiSpaceOf(NODE_FLAGS) ?? '16', '16', '1'], [1, 1024], "V8's young generation (a half of it)"),
    by: 'flag',
  },
  NODE: {
    ...whole(
      'major',
      [...new Set([ownMajor(), '20', '22', '24', '26'])],
      [20, 99],
      'version of Node for the API, from npm',
    ),
    by: 'node',
  },
})

const SOFT_ALONE = 'Node raises its soft limit to the hard one at start, so a lower soft one alone would change nothing'

/**
 * `POOL_MAX=5,10` -> { name: 'POOL_MAX', levels: ['5', '10'] }.
 *
 * @param {string} text
 * @returns {{ name: string, levels: string[] }}
 * @throws {UsageError}
 */
export function parseKnob(text) {
  const [name, list] = text.split(/=(.*)/s)
  const knob = KNOBS[name]
  if (!knob || !list) {
    throw new UsageError(
      `--knob: expected NAME=LEVEL,LEVEL with one of ${Object.keys(KNOBS).join(', ')}, got "${text}"`,
    )
  }
  const levels = list.split(',')
  for (const level of levels) {
    const refusal = knob.refusal?.(level)
    if (refusal) throw new UsageError(`--knob: expected ${name} to be ${knob.expected}, got "${level}": ${refusal}`)
    if (!knob.accepts(level)) throw new UsageError(`--knob: expected ${name} to be ${knob.expected}, got "${level}"`)
  }
  if (new Set(levels).size < levels.length)
    throw new UsageError(`--knob: expected each level of ${name} once, got ${list}`)
  return { name, levels }
}

/** @param {string} unit @param {string[]} levels @param {[number, number]} range @param {string} about @returns {Knob} */
function whole(unit, levels, [least, most], about) {
  return {
    by: 'environment',
    unit,
    about,
    levels,
    expected: `a whole number from ${least} to ${most}`,
    accepts: (level) => /^\d{1,10}$/.test(level) && Number(level) >= least && Number(level) <= most,
    advised: true,
  }
}

/** @param {string[]} levels @param {string} about @returns {Knob} */
function choice(levels, about) {
  const expected = `one of ${levels.join(', ')}`
  return {
    by: 'environment',
    unit: '',
    about,
    levels,
    expected,
    accepts: (level) => levels.includes(level),
    advised: true,
  }
}

/** What a process that we start has without being told. */
function ownNofile() {
  return String(nofileOf('self') ?? 1024)
}

function ownMajor() {
  return process.versions.node.split('.')[0]
}
