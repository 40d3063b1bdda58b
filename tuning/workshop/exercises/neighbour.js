import { figure } from '../../../load/report/format.js'
import { choice, number } from '../answers.js'
import { closed, guessedLeft, times } from '../kit.js'

/** @import { Found, Measurement, Rules } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'batched' }
const CLIENTS = 64

/** From this share of the rate without a neighbour, the neighbour no longer matters. */
const BACK = 0.8

/** A smaller gain over the rate with the neighbour may be chance. */
const GAIN = 1.2

/** The gain that is enough if the generator and Postgres share the cores as well, so that less comes back. */
const SHARED_GAIN = 1.15

/** The knob of each answer. @type {Record<string, Measurement['cell']>} */
const KNOBS = {
  pool: { POOL_MAX: 80 },
  batches: { BATCH_SLOTS: 8 },
  timeout: { POOL_CONNECT_TIMEOUT_MS: 30_000 },
  nice: { NEIGHBOUR_NICE: 19 },
}

/** @type {Rules} */
export const neighbour = {
  differs: ({ pinned }) => !pinned,
  before: () => closed('alone', SERVICE, CLIENTS),
  predict: {
    kind: number('% of what it did alone', 0, 200),
    solution: () => '55',
    wrong: '100',
    compare: (found) => guessedLeft(found.answers.predict, times(found, 'beside', 'alone')),
  },
  first: (found) => [closed('beside', crowded(found), CLIENTS)],
  columns: ['goodput/s', 'p50', 'p99', 'API core', 'API waits', 'CPU us'],
  turn: { kind: choice, solution: () => 'nice', wrong: 'pool' },
  again: (found) => [closed(found.answers.turn, { ...crowded(found), ...KNOBS[found.answers.turn] }, CLIENTS)],
  outcome: (found) => {
    const [left, gain] = ['alone', 'beside'].map((base) => times(found, found.answers.turn, base))
    return {
      solved: found.facts.pinned ? left >= BACK && gain >= GAIN : gain >= SHARED_GAIN,
      because: `${figure(100 * left)} % of what it did alone, ${gain.toFixed(2)} x what it did beside the neighbour`,
    }
  },
}

/** @param {Found} found */
function crowded({ facts }) {
  return { ...SERVICE, NEIGHBOURS: facts.pinned ? 1 : facts.cores }
}
