import { visitsOf } from '../../stats/design.js'

/**
 * The stages of `POST /user`, in the order in which the budget takes them away: the commit before the statement that it
 * belongs to, and what is taken away last is what remains of the answer.
 *
 * @type {Record<string, string>} what is not done any more when a stage is away
 */
export const STAGES = {
  log: 'no line in the log for a request (LOG_LEVEL=debug writes one)',
  validate: 'what the client sent is not looked at',
  'read-and-parse': 'the body is dropped unread, and a fixed user taken instead',
  pool: 'nobody waits for a database connection: there is one for everybody, without the pool',
  commit: 'the commit does not wait for the disk (synchronous_commit=off)',
  database: 'no statement is sent; it is answered at once, as if it had been',
  headers: 'the answer has Content-Length and no other header',
}

export const STAGE_NAMES = Object.keys(STAGES)

/** A busy wait put into a stage on purpose. It can be taken away alone, and goes with its stage. */
export const PLANTED = 'planted'

/** So often in a round as the whole: away as often as there. */
const PLANTED_VISITS = 3

export const WHOLE = 'whole'

/** The name of the cell whose trials hold all variants. */
export const BY_TURNS = 'by turns'

/** Requests of a turn: some tens of milliseconds at the usual rate. */
export const REQUESTS_PER_TURN = 100

/** The name of the variant without these stages. @param {string[]} without */
export function nameOf(without) {
  return without.length === 0 ? WHOLE : `without ${without.join('+')}`
}

/**
 * The service as it is, with each stage away, and with more and more of them away.
 *
 * @param {{ stages: string[], slow_us: Record<string, number> }} plan stages in the order of STAGES
 *
 * @typedef {{ name: string, without: string[] }} Variant
 */
export function variantsOf({ stages, slow_us }) {
  const planted = Object.keys(slow_us).length > 0 ? [[PLANTED]] : []
  const singles = stages.map((stage) => [stage])
  // The first of the cumulative ones is a single one.
  const cumulative = stages.slice(1).map((_, i) => stages.slice(0, i + 2))
  return [[], ...planted, ...singles, ...cumulative].map((without) => ({ name: nameOf(without), without }))
}

/** The variants of a round by turns. @param {Parameters<typeof variantsOf>[0]} plan @returns {Variant[]} */
export function turnsOf(plan) {
  return variantsOf(plan).flatMap((variant) => {
    return variant.name === nameOf([PLANTED]) ? Array(PLANTED_VISITS).fill(variant) : variant
  })
}

/**
 * The order of a round by turns, the whole at its start, in its middle and at its end.
 *
 * @param {Variant[]} variants the whole first
 * @param {number} seed
 * @returns places in the list
 */
export function orderOf(variants, seed) {
  const cells = variants.map((_, i) => i)
  return visitsOf({ cells, anchor: 0, blocks: 1, seed }).map(({ cell }) => cell)
}
