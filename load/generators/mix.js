import { randomAt } from '../system/random.js'
import { replayed } from './replay.js'
import { drawsOf, fillTemplate, parseTemplate } from './template.js'

/**
 * @import { Part } from './template.js'
 * @import { Entry, Header, MixPlan } from '../report/record.js'
 */

export const JSON_TYPE = /** @type {Header} */ (['Content-Type', 'application/json'])

/** The default mix: each request creates a user. @param {number} seed @returns {MixPlan} */
export function createUserMix(seed) {
  return { name: 'create-user', method: 'POST', headers: [JSON_TYPE], body_base64: null, seed }
}

/** Exceeds the number of requests in any trial, so that no two trials of a run share a sequence number. */
const SEQS_PER_TRIAL = 1e9

/** Stands for a request's number where a user's body becomes a template. */
const BLANK = '{}'

/**
 * Creates the requests of a trial: the same plan and trial give the same bytes for request `i`.
 * @param {MixPlan} plan @param {number} trial part of every email, so that a run never repeats one @returns {Mix}
 * @typedef {(i: number) => Request} Mix
 * @typedef {{ name: string, method: string, path: string | null, headers: Header[], body: string | Buffer }} Request
 *   path: null means the target URL's path; headers: without Host and Content-Length; body: a string has one byte per character
 */
export function createMix(plan, trial) {
  if (plan.entries) return followed(programOf(plan, trial, ''))
  if (plan.replay) return replayed(plan)
  const { name, method, headers, body_base64 } = plan
  const fixed = body_base64 === null ? null : Buffer.from(body_base64, 'base64')
  const userAt = usersOf(plan, trial)
  return (i) => ({ name, method, path: null, headers, body: fixed ?? bodyFor(userAt(i)) })
}

/** Returns the user that request i of a trial stores. @param {Pick<MixPlan, 'seed'>} plan @param {number} trial */
export function usersOf({ seed }, trial) {
  const prefix = `${seed.toString(36)}-${trial}`
  return (/** @type {number | string} */ i) => ({ email: `user-${prefix}-${i}@redline.test`, password: `secret-${i}` })
}

/** @param {{ email: string, password: string }} user */
function bodyFor({ email, password }) {
  return `{"email":"${email}","password":"${password}"}`
}

/**
 * Describes a mix as plain data for a generator in another language. Request i uses `draws` random numbers, starting at number
 * i * draws (random.js). The first selects the first entry whose `up_to` exceeds it. The others fill the blanks in the entry's
 * path, then those in its body.
 * @param {MixPlan} plan @param {number} trial @param {string} url supplies the path for a mix without entries
 * @typedef {ReturnType<typeof programOf>} Program
 * @typedef {{ name: string, method: string, headers: Header[], path: Part[], body: Part[], up_to: number }} ProgramEntry
 */
export function programOf(plan, trial, url) {
  const entries = plan.entries ? weighted(plan.entries, plan.headers) : [onlyEntry(plan, trial, new URL(url))]
  const draws = 1 + Math.max(...entries.map(({ path, body }) => drawsOf(path) + drawsOf(body)))
  // Makes consecutive seeds and trials start at unrelated points of the sequence.
  const seed = Math.floor(randomAt(plan.seed, trial) * 2 ** 32)
  return { seed, draws, first_seq: trial * SEQS_PER_TRIAL, entries }
}

/** @param {Entry[]} entries @param {Header[]} headers */
function weighted(entries, headers) {
  const total = entries.reduce((sum, { weight }) => sum + weight, 0)
  // Some services reject a content type without a body.
  const typeless = headers.filter(([name]) => name.toLowerCase() !== 'content-type')
  let sum = 0
  return entries.map(({ name, method, path, body, weight }, i) => {
    sum += weight
    const up_to = i === entries.length - 1 ? 1 : sum / total
    const own = body === '' ? typeless : headers
    return { name, method, headers: own, path: parseTemplate(path), body: parseTemplate(body), up_to }
  })
}

/** @param {MixPlan} plan @param {number} trial @param {URL} url @returns {ProgramEntry} */
function onlyEntry(plan, trial, { pathname, search }) {
  const { name, method, headers, body_base64 } = plan
  const fixed = Buffer.from(body_base64 ?? '', 'base64').toString('latin1')
  const pieces = bodyFor(usersOf(plan, trial)(BLANK)).split(BLANK)
  const user = pieces.flatMap((text, i) => (i === 0 ? text : [{ fill: /** @type {const} */ ('index') }, text]))
  return { name, method, headers, path: [pathname + search], body: body_base64 === null ? user : [fixed], up_to: 1 }
}

/** @param {Program} program @returns {Mix} */
function followed({ seed, draws, first_seq, entries }) {
  return (i) => {
    let n = i * draws
    const random = () => randomAt(seed, n++)
    const chosen = random()
    const { name, method, headers, ...own } = /** @type {ProgramEntry} */ (entries.find(({ up_to }) => chosen < up_to))
    const path = fillTemplate(own.path, i, first_seq, random)
    return { name, method, path, headers, body: fillTemplate(own.body, i, first_seq, random) }
  }
}

/** Email prefix of users that the lab itself stores, outside any load. */
export const LAB_USER = 'user-lab'

/**
 * LIKE patterns that match only the rows of a run: the emails from its plan, its background load and the lab itself.
 * @param {MixPlan} plan @returns {string[] | null} null: the user supplied the request bodies
 */
export function emailPatterns({ seed, entries, body_base64 }) {
  if (entries || body_base64 !== null) return null
  const prefixes = [...[seed, seedBeside(seed)].map((one) => `user-${one.toString(36)}`), LAB_USER]
  return prefixes.map((prefix) => `${prefix}-%@redline.test`)
}

/** Seed of a background load. @param {number} seed */
export function seedBeside(seed) {
  return (seed + 1) % 2 ** 32
}
