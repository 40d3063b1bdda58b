import { visitsOf } from '../../stats/design.js'

/**
 * The stages of `POST /user`, each with the work that its removal leaves out, in the order in which the budget removes them: the
 * commit before the statement that it belongs to. @type {Record<string, string>}
 */
export const STAGES = {
  log: 'no log line for a request (LOG_LEVEL=debug writes one)',
  validate: 'the input is not checked',
  'read-and-parse': 'the body is dropped unread and replaced by a fixed user',
  pool: 'no request waits for a database connection: more are opened as needed, outside the pool',
  commit: 'the commit does not wait for the disk (synchronous_commit=off)',
  database: 'no statement is sent; its answer is made up at once',
  headers: 'the response has Content-Length and no other header',
}

export const STAGE_NAMES = Object.keys(STAGES)

export const WHOLE = 'whole'

/** The cell whose trials contain all variants. */
export const BY_TURNS = 'by turns'

/** Length of a turn: some tens of milliseconds at the default rate. */
export const REQUESTS_PER_TURN = 100

/** A variant's name. @param {string[]} without the stages that it lacks */
export function nameOf(without) {
  return without.length === 0 ? WHOLE : `without ${without.join('+')}`
}

/**
 * The whole service, then without each stage, then with more and more stages removed. A variant is the list of stages that it lacks.
 * @param {string[]} stages in the order of STAGES
 */
export function variantsOf(stages) {
  const single = stages.map((stage) => [stage])
  const cumulative = stages.map((_, i) => stages.slice(0, i + 1))
  return [[], ...single, ...cumulative.slice(1)]
}

/** Variants that are compared with the whole by their throughput: without each stage, and without all of them. @param {string[]} stages */
export function removalsOf(stages) {
  return [...stages.map((stage) => [stage]), ...(stages.length > 1 ? [stages] : [])]
}

/** The removed stages in the words of a table. @param {string[]} without */
export function removedText(without) {
  if (without.length === 0) return 'nothing'
  return without.length === 1 ? without[0] : 'all of them'
}

/** The order of a round, by index of the variant: the whole (0) at start, middle and end. @param {number} variants @param {number} seed */
export function orderOf(variants, seed) {
  const cells = [...Array(variants).keys()]
  return visitsOf({ cells, anchor: 0, blocks: 1, seed }).map(({ cell }) => cell)
}
