import { UsageError } from '../command/errors.js'

/** @typedef {Record<string, string>} Fields their kinds by path: the kind expected, then others that a record may have, `none` for no field */

/** @type {Fields} */
const OF_RUN = {
  run_id: 'string',
  verb: 'string',
  argv: 'list',
  started_at: 'string',
  finished_at: 'string|null|none',
  plan: 'object',
  database: 'object|null|none',
  load_hosts: 'list|none',
  slo: 'object|none',
  pinning: 'string|none',
  warnings: 'list|none',
  not_applied: 'list|none',
  problem: 'string|null|none',
  capacity: 'object|null|none',
  limit: 'object|null|none',
  'limit.resource': 'string|none',
  'versions.redline_commit': 'string|null|none',
  'versions.driver': 'string|none',
  rows: 'list|none',
}

/** @type {Fields} */
const OF_PLAN = {
  'plan.url': 'string|null|none',
  'plan.metrics_url': 'string|null|none',
  'plan.driver': 'string',
  'plan.connections': 'list',
  'plan.slo': 'object',
  'plan.mix': 'object',
}

/** @type {Fields} */
const OF_BEGUN = { machine: 'object', versions: 'object' }

/** Fields that every reader of this run.json relies on. A verb that measures without trials has a plan of its own. @param {any} run @returns {Fields} */
export function ofRun({ rows, machine, pinning }) {
  const hasBegun = machine !== undefined || pinning !== undefined
  return { ...OF_RUN, ...(rows === undefined && OF_PLAN), ...(hasBegun && OF_BEGUN) }
}

/** Fields that every reader of a trial relies on. @type {Fields} */
export const OF_TRIAL = {
  run_id: 'string',
  trial: 'number',
  started_at: 'string',
  experiment: 'string',
  at: 'object',
  cell: 'object|string|null',
  settings: 'object',
  target: 'object',
  load: 'object',
  'load.driver': 'string',
  'load.connections': 'number',
  'load.duration_s': 'number',
  traffic: 'object',
  'traffic.goodput_rps': 'number',
  'traffic.status': 'object',
  'traffic.errors': 'object',
  'traffic.per_second': 'list|none',
  probes: 'object',
  'probes.api': 'object',
  'probes.generator': 'object',
  'outcome.verdict': 'string',
  'outcome.because': 'string',
  limit: 'object',
}

/**
 * Refuses what lacks a field, or has one of another kind.
 * @param {any} value parsed JSON @param {Fields} fields @param {string} where file and line @param {string} advice
 * @throws {UsageError}
 */
export function refuseDamaged(value, fields, where, advice) {
  for (const [path, kinds] of Object.entries({ '': 'object', ...fields })) {
    const names = path.split('.').filter(Boolean)
    const found = kindOf(names.reduce((own, name) => own?.[name], value))
    if (kinds.split('|').includes(found)) continue
    const expected = `${WORDS[kinds.split('|')[0]]}${path && ` as ${path}`}`
    throw new UsageError(`expected ${expected} in ${where}, got ${WORDS[found]}: ${advice}`)
  }
}

/** The kinds in messages. @type {Record<string, string>} */
const WORDS = {
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  list: 'a list',
  object: 'an object',
  null: 'null',
  none: 'none',
}

/** @param {unknown} value */
function kindOf(value) {
  if (value === undefined) return 'none'
  if (value === null) return 'null'
  return Array.isArray(value) ? 'list' : typeof value
}
