import { randomAt } from '../system/random.js'
import { drawsOf, fillTemplate, parseTemplate } from './template.js'

/**
 * @import { Part } from './template.js'
 * @import { Entry, Header, MixPlan } from '../report/record.js'
 */

/** @type {Header} */
export const JSON_TYPE = ['Content-Type', 'application/json']

/**
 * What the requests of a trial consist of. Request `i` is the same bytes whenever seed and trial are the same.
 *
 * @typedef {object} Mix
 * @property {string} name
 * @property {string} method of every request; where there are entries, of the first of them
 * @property {Header[]} headers without Host and Content-Length
 * @property {boolean} varied there are entries: each request has a method and a path of its own
 * @property {(i: number) => string | Buffer} body of request i, empty for none; a string is one byte a character
 * @property {(i: number) => Request} request
 *
 * @typedef {object} Request
 * @property {string} name of its entry
 * @property {string} method
 * @property {string | null} path null: that of the target's URL
 * @property {Header[]} headers
 * @property {string | Buffer} body
 */

/** A new user with each request: what the API is for. @param {number} seed @returns {MixPlan} */
export function createUserMix(seed) {
  return { name: 'create-user', method: 'POST', headers: [JSON_TYPE], body_base64: null, seed }
}

/** More requests than a trial may have, so that no two trials of a run share a number. */
const SEQS_PER_TRIAL = 1e9

/**
 * @param {MixPlan} plan
 * @param {number} trial its number is part of every email, so that a run never sends one twice
 * @returns {Mix}
 */
export function createMix(plan, trial) {
  const { name, method, headers } = plan
  if (plan.entries) {
    const request = requestOf(programOf(plan, trial))
    return { name, method, headers, varied: true, body: (i) => request(i).body, request }
  }
  const body = bodyOf(plan, trial)
  const request = (/** @type {number} */ i) => ({ name, method, path: null, headers, body: body(i) })
  return { name, method, headers, varied: false, body, request }
}

/** @param {MixPlan} plan @param {number} trial @returns {Mix['body']} */
function bodyOf(plan, trial) {
  if (plan.body_base64 !== null) {
    const body = Buffer.from(plan.body_base64, 'base64')
    return () => body
  }
  const prefix = prefixOf(plan, trial)
  return (i) => `{"email":"user-${prefix}-${i}@redline.test","password":"secret-${i}"}`
}

/**
 * A mix as plain data that a generator in another language can follow: for request i it takes the `draws` random numbers
 * from number i * draws on (random.js). The first chooses the entry: the first one whose `up_to` is above it. The others
 * fill the blanks of its path and then of its body.
 *
 * @typedef {object} Program
 * @property {number} seed
 * @property {number} draws
 * @property {number} first_seq
 * @property {ProgramEntry[]} entries
 *
 * @typedef {object} ProgramEntry
 * @property {string} name
 * @property {string} method
 * @property {Header[]} headers
 * @property {Part[] | null} path
 * @property {Part[]} body
 * @property {number} up_to
 */

/** @param {MixPlan} plan @param {number} trial @returns {Program} */
export function programOf(plan, trial) {
  const entries = plan.entries ? weighted(plan.entries, plan.headers) : [onlyEntry(plan, trial)]
  const draws = 1 + Math.max(...entries.map(({ path, body }) => drawsOf(path ?? []) + drawsOf(body)))
  // Seeds that follow each other start in places that have nothing to do with each other.
  const seed = Math.floor(randomAt(plan.seed, trial) * 2 ** 32)
  return { seed, draws, first_seq: trial * SEQS_PER_TRIAL, entries }
}

/** @param {Entry[]} entries @param {Header[]} headers @returns {ProgramEntry[]} */
function weighted(entries, headers) {
  const total = entries.reduce((sum, { weight }) => sum + weight, 0)
  const typeless = headers.filter(([name]) => name.toLowerCase() !== 'content-type')
  let sum = 0
  return entries.map(({ name, method, path, body, weight }, i) => {
    sum += weight
    const up_to = i === entries.length - 1 ? 1 : sum / total
    // Some services refuse a type without a body.
    const own = body === '' ? typeless : headers
    return { name, method, headers: own, path: parseTemplate(path), body: parseTemplate(body), up_to }
  })
}

/** @param {MixPlan} plan @param {number} trial @returns {ProgramEntry} */
function onlyEntry(plan, trial) {
  const { name, method, headers, body_base64 } = plan
  const index = /** @type {const} */ ({ fill: 'index' })
  const user = [`{"email":"user-${prefixOf(plan, trial)}-`, index, '@redline.test","password":"secret-', index, '"}']
  const fixed = Buffer.from(body_base64 ?? '', 'base64').toString('latin1')
  return { name, method, headers, path: null, body: body_base64 === null ? user : fixed ? [fixed] : [], up_to: 1 }
}

/** Begins the emails of users that the lab stores on its own account, and not as part of a load. */
export const LAB_USER = 'user-lab'

/**
 * LIKE patterns that match the rows of a run and no others: the emails of its plan, of background load, and of the lab.
 *
 * @param {MixPlan} plan
 * @returns {string[] | null} null: it does not send users of ours
 */
export function emailPatterns({ seed, entries, body_base64 }) {
  if (entries || body_base64 !== null) return null
  const prefixes = [...[seed, seedBeside(seed)].map((one) => `user-${one.toString(36)}`), LAB_USER]
  return prefixes.map((prefix) => `${prefix}-%@redline.test`)
}

/** Seed of a load that runs beside another one. @param {number} seed */
export function seedBeside(seed) {
  return (seed + 1) % 2 ** 32
}

/** @param {MixPlan} plan @param {number} trial */
function prefixOf({ seed }, trial) {
  return `${seed.toString(36)}-${trial}`
}

/** @param {Program} program @returns {Mix['request']} */
function requestOf({ seed, draws, first_seq, entries }) {
  return (i) => {
    let n = i * draws
    const random = () => randomAt(seed, n++)
    const chosen = random()
    const entry = /** @type {ProgramEntry} */ (entries.find(({ up_to }) => chosen < up_to))
    const { name, method, headers } = entry
    const path = fillTemplate(entry.path ?? [], i, first_seq, random)
    return { name, method, path, headers, body: fillTemplate(entry.body, i, first_seq, random) }
  }
}
