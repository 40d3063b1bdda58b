import { SETTINGS } from '../../api/settings.js'
import { DatabaseError, lookAtDatabase } from '../../sql/database.js'
import { UsageError } from '../command/errors.js'
import { numberFlag, wholeNumber } from '../command/flags.js'
import { describeMachine } from '../system/machine.js'
import { pinToCores } from '../system/processes.js'
import { preflight } from '../verdict/preflight/preflight.js'
import { factsHere } from '../verdict/spoilers.js'

/**
 * @import { GivenDatabase } from '../command/environment.js'
 * @import { Action } from '../run/experiment.js'
 * @import { Finding, Planned } from '../verdict/preflight/preflight.js'
 */

const DEFAULTS = { connections: 256, timeout_s: 10 }

/** Levels of findings, in the order in which they are listed. */
const LEVELS = /** @type {const} */ (['bad', 'warn', 'unseen', 'ok'])

/** `npm run doctor`: what on this machine would spoil a measurement? Saves nothing, and changes nothing in a given database. @type {Action} */
export const doctor = {
  about: 'what on this machine would spoil a measurement?',
  flags: {
    connections: numberFlag(`planned connections (default ${DEFAULTS.connections})`, 1, 60_000),
    rate: numberFlag('highest planned rate in requests/s (default: not known)', 1, 1_000_000),
  },
  examples: `  npm run doctor                    about 5 seconds: is this machine fit to measure on?
  npm run doctor -- --connections 2000 --rate 20000
  POOL_MAX=150 npm run doctor`,

  async run({ given, argv }, { signal, progress, environment }) {
    const plan = planned(given, environment.settings)
    const machine = describeMachine()
    const cores = pinToCores()
    if (!environment.database.url) progress.note('starting Postgres …')
    const { database, problem: noDatabase } = await open(environment.database)
    try {
      signal.throwIfAborted()
      const facts = await factsHere({ database, cores, measuresCeiling: true, signal, note: progress.note })
      const findings = preflight(facts, plan)
      const bad = findings.filter(({ level }) => level === 'bad').map(({ what }) => what)
      const spoiled = bad.length > 0 ? `a run here would be spoiled: ${bad.join(', ')}` : null
      const problem = [noDatabase, spoiled].filter(Boolean).join('; ') || null
      const run = { verb: 'doctor', argv, plan, machine, ceiling: facts.ceiling, findings, problem }
      return { run, text: listOf(findings), folder: null }
    } finally {
      await database?.close()
    }
  },
}

/** @param {Record<string, any>} flags @param {NodeJS.ProcessEnv} env @returns {Planned} */
function planned({ connections = DEFAULTS.connections, rate = null }, env) {
  const setting = (/** @type {'POOL_MAX' | 'LISTEN_BACKLOG'} */ name) => {
    const { default: byDefault, min, max, expected } = SETTINGS[name]
    const value = env[name] ? wholeNumber(min, max).parse(env[name]) : byDefault
    if (value === undefined) throw new UsageError(`${name}: expected ${expected}, got ${JSON.stringify(env[name])}`)
    return value
  }
  const ofApi = { pool_max: setting('POOL_MAX'), backlog: setting('LISTEN_BACKLOG') }
  return { connections, rate_rps: rate, ...ofApi, fresh_connections: false, timeout_s: DEFAULTS.timeout_s }
}

/** An embedded Postgres that does not start is a finding; a given one that does not answer is a wrong configuration. @param {GivenDatabase} given */
async function open({ url, pg }) {
  try {
    return { database: await lookAtDatabase(url, { pg }), problem: null }
  } catch (error) {
    if (url || error instanceof DatabaseError) throw error
    const [firstLine] = /** @type {Error} */ (error).message.split('\n')
    return { database: null, problem: `Postgres does not start: ${firstLine}` }
  }
}

/** @param {Finding[]} findings */
function listOf(findings) {
  const inOrder = LEVELS.flatMap((level) => findings.filter((finding) => finding.level === level))
  const width = Math.max(...inOrder.map(({ what }) => what.length))
  const indent = ''.padEnd(6 + 2 + width + 2)
  const lines = inOrder.flatMap(({ level, what, value, why, mend }) => {
    const line = `${level.padEnd(6)}  ${what.padEnd(width)}  ${value}`
    return level === 'ok' ? line : [line, `${indent}why:  ${why}`, `${indent}fix:  ${mend}`]
  })
  const counts = LEVELS.map((level) => `${findings.filter((finding) => finding.level === level).length} ${level}`)
  const isFit = findings.every(({ level }) => level === 'ok' || level === 'unseen')
  return `${lines.join('\n')}\n\n${counts.join(', ')}${isFit ? ': nothing seen here would spoil a measurement' : ''}`
}
