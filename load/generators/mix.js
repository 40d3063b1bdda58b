import { randomAt } from '../system/random.js'
import { replayed } from './replay.js'
import { TakenValues } from './taken.js'
import { drawsOf, fillTemplate, namesOf, parseTemplate } from './template.js'

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

/** Placeholder for a request's number when a user's body becomes a template. */
const BLANK = '{}'

/**
 * Creates the requests of a trial: the same plan and trial give the same bytes for request `i`.
 * @param {MixPlan} plan @param {number} trial part of every email, so that a run never repeats one @returns {Mix}
 * @typedef {(i: number) => Request} Mix
 * @typedef {{ name: string, method: string, path: string | null, headers: Header[], body: string | Buffer, take?: (body: string) => boolean }} Request
 *   path: null means the target URL's path; headers: without Host and Content-Length; body: a string has one byte per character; take:
 *   extracts from the body of a success the values that later requests need; false: a value is missing
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
 * path, then in its body, then in its headers.
 * @param {MixPlan} plan @param {number} trial @param {string} url supplies the path for a mix without entries
 * @typedef {ReturnType<typeof programOf>} Program
 * @typedef {{ name: string, method: string, headers: Header[], filled?: [name: string, value: Part[]][], path: Part[], body: Part[], up_to: number,
 *   take?: Record<string, string>, needs?: string[] }} ProgramEntry filled: headers with blanks, sent last; needs: names of
 *   values from earlier responses
 */
export function programOf(plan, trial, url) {
  const entries = plan.entries ? weighted(plan) : [onlyEntry(plan, trial, new URL(url))]
  const draws = 1 + Math.max(...entries.map((entry) => drawsOf(partsOf(entry))))
  // Makes consecutive seeds and trials start at unrelated points of the sequence.
  const seed = Math.floor(randomAt(plan.seed, trial) * 2 ** 32)
  return { seed, draws, first_seq: trial * SEQS_PER_TRIAL, entries }
}

/** @param {MixPlan} plan @returns {ProgramEntry[]} */
function weighted({ entries = [], headers: common, data }) {
  const total = entries.reduce((sum, { weight }) => sum + weight, 0)
  let sum = 0
  return entries.map(({ name, method, path, body, headers: own = {}, take, weight }, i) => {
    sum += weight
    const up_to = i === entries.length - 1 ? 1 : sum / total
    const isOwn = new Set(Object.keys(own).map((one) => one.toLowerCase()))
    // Some services reject a content type without a body.
    const shared = common.filter((pair) => !isOwn.has(pair[0].toLowerCase()) && (body !== '' || !isContentType(pair)))
    const pairs = Object.entries(own)
    const headers = [...shared, ...pairs.filter(([, value]) => !value.includes('{{'))]
    const filled = pairs.filter(([, value]) => value.includes('{{'))
    const needs = namesOf([{ path, body, headers: own }], 'taken')
    return {
      ...{ name, method, headers, up_to },
      path: parseTemplate(path, 'path', data),
      body: parseTemplate(body, /^\s*[[{]/.test(body) ? 'json' : 'text', data),
      ...(filled.length > 0 && { filled: filled.map(([one, value]) => [one, parseTemplate(value, 'text', data)]) }),
      ...(take && { take }),
      ...(needs.length > 0 && { needs }),
    }
  })
}

/** @param {string[]} header name, then value */
export function isContentType([name]) {
  return name.toLowerCase() === 'content-type'
}

/** Lists all parts of an entry, in the order in which they are filled. @param {ProgramEntry} entry */
function partsOf({ path, body, filled = [] }) {
  return [...path, ...body, ...filled.flatMap(([, value]) => value)]
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
function followed({ seed, draws, first_seq: firstSeq, entries }) {
  const values = new TakenValues(entries)
  return (index) => {
    let n = index * draws
    const random = () => randomAt(seed, n++)
    const drawn = random()
    const chosen = /** @type {ProgramEntry} */ (entries.find(({ up_to }) => drawn < up_to))
    const { name, method, headers, filled, take, ...own } = values.isEmpty ? chosen : values.readyFor(chosen)
    const filling = { index, firstSeq, random, taken: values.one }
    const path = fillTemplate(own.path, filling)
    const body = fillTemplate(own.body, filling)
    const more = filled?.map(([one, value]) => /** @type {Header} */ ([one, fillTemplate(value, filling)]))
    const all = more ? [...headers, ...more] : headers
    return { name, method, path, headers: all, body, ...(take && { take: values.takerFor(take) }) }
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
