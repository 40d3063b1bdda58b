import { slicesOf } from '../../../load/capacity/proving.js'
import { proofText, undosedTexts } from '../../../load/report/proof.js'
import { LEAD_S } from '../../../load/verdict/dose/dosing.js'
import { elasticitiesOf } from '../../../load/verdict/proof.js'
import { choice, number } from '../answers.js'
import { closed, gained, guessedNumber, PATIENT, times } from '../kit.js'

/**
 * @import { Suspect } from '../../../load/report/record.js'
 * @import { Found, Measurement, Rules } from '../exercise.js'
 */

/** An insert waits for the one before it, so more connections do nothing, however many cores Postgres has. */
const RECOUNTED_ROWS = 50_000
const SERVICE = { ...PATIENT, INSERT_MODE: 'single', POOL_MAX: 4, RECOUNTED_ROWS }
const CLIENTS = 32

/** Factor by which the pool is enlarged. */
const FACTOR = 4
/** Share of the time for which each suspect is stopped. */
const SHARE = 0.2
/** Minimum number of pairs for an interval. */
const PAIRS = 6
/** Processes are slowed, not cores: the service may have no core of its own. @type {Suspect[]} */
const SUSPECTS = [
  { suspect: 'the service', resource: 'api-cpu', of: 'service' },
  { suspect: 'Postgres', resource: 'postgres-cpu', of: 'postgres' },
  { suspect: 'the generator', resource: 'generator-cpu', of: 'generator' },
]

const GAIN = 1.4

/** Changes that each answer makes. @type {Record<string, { cell?: Measurement['cell'], clients?: number }>} */
const KNOBS = {
  prepared: { cell: { INSERT_MODE: 'prepared' } },
  clients: { clients: 2 * CLIENTS },
  half: { cell: { RECOUNTED_ROWS: RECOUNTED_ROWS / 2 } },
}

/** @type {Rules} */
export const messenger = {
  constants: { clients: CLIENTS, factor: FACTOR, gain: GAIN },
  differs: ({ limits }) => !limits,
  before: () => closed('peak', SERVICE, CLIENTS),
  predict: {
    kind: choice,
    solution: () => 'postgres-cpu',
    wrong: 'pool-size',
    compare: (found) => {
      const pool = Math.log(times(found, `pool x ${FACTOR}`, 'peak')) / Math.log(FACTOR)
      const elasticities = elasticitiesOf([found.trials.doses])
      const [first] = elasticities
      // Without a dose that Postgres took, or that moved anything, the rest of the evidence has to tell.
      const isTold = elasticities.some(({ resource }) => resource === 'postgres-cpu') && elasticities.some(isMoving)
      if (!isTold && pool < 0.5) return null
      const happened = !first || pool > first.elasticity ? 'pool-size' : first.resource
      const text = `It was: ${happened}. The larger pool took ${times(found, `pool x ${FACTOR}`, 'peak').toFixed(2)} x as many.`
      return { right: found.answers.predict === happened, text }
    },
  },
  first: () => {
    const rounds = Array.from({ length: PAIRS }, (_, round) => slicesOf(SUSPECTS, SHARE, 0, round)).flat()
    return [
      closed(`pool x ${FACTOR}`, { ...SERVICE, POOL_MAX: FACTOR * SERVICE.POOL_MAX }, CLIENTS),
      // Opens the connections whose other end the doses stop.
      closed('once more', SERVICE, CLIENTS),
      closed('doses', SERVICE, CLIENTS, { slices: rounds, duration_s: LEAD_S + rounds.length }),
    ]
  },
  columns: ['goodput/s', 'p50', 'API core', 'pool used', 'waiting', 'statement'],
  notes: {
    doses: (trial) => {
      const proof = proofText({ elasticities: elasticitiesOf([trial]) })
      return [proof ?? 'No program was slowed long enough to show an effect.', ...undosedTexts([trial])]
    },
  },
  turn: { kind: choice, solution: () => 'half', wrong: 'clients' },
  expect: {
    kind: number('times', 0.1, 100, { whole: false }),
    solution: (found) => (2 ** elasticityOf(found)).toFixed(2),
    compare: (found) => {
      return guessedNumber(found.answers.expect, times(found, found.answers.turn, 'peak'), [0.75, 1.33], ' x')
    },
  },
  again: ({ answers }) => {
    const { cell, clients = CLIENTS } = KNOBS[answers.turn]
    return [closed(answers.turn, { ...SERVICE, ...cell }, clients)]
  },
  outcome: (found) => gained(times(found, found.answers.turn, 'peak'), GAIN),
}

/** Elasticity of the throughput with respect to Postgres's speed: that of a bottleneck where no dose could show it. @param {Found} found */
function elasticityOf({ trials }) {
  const postgres = elasticitiesOf([trials.doses]).find(({ resource }) => resource === 'postgres-cpu')
  return postgres && isMoving(postgres) ? postgres.elasticity : 1
}

/** @param {ReturnType<typeof elasticitiesOf>[number]} suspect */
function isMoving({ low }) {
  return low !== null && low > 0
}
