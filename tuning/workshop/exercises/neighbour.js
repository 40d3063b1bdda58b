import { cellName } from '../../../load/report/format.js'
import { figure, guessedLeft } from '../evidence.js'
import { choice, number } from '../exercise.js'
import { closed, goodput, times } from '../loads.js'

/**
 * @import { Exercise, Found } from '../exercise.js'
 * @import { Cell } from '../../../load/report/record.js'
 */

const SERVICE = { INSERT_MODE: 'batched' }
const CLIENTS = 64

/** Of what it did alone: the neighbour is not felt any more. */
const BACK = 0.8

/** Times what it did beside the neighbour: less may be chance. */
const GAIN = 1.2

/** The same where the generator and Postgres stand beside the neighbour as well: not all of it comes back. */
const SHARED_GAIN = 1.15

/** What each answer turns. @type {Record<string, Cell>} */
const KNOBS = {
  pool: { POOL_MAX: 80 },
  batches: { BATCH_SLOTS: 8 },
  timeout: { POOL_CONNECT_TIMEOUT_MS: 30_000 },
  nice: { NEIGHBOUR_NICE: 19 },
}

/** @type {Exercise} */
export const neighbour = {
  id: 'neighbour',
  title: 'The noisy neighbour',
  minutes: 6,
  needs: 'The core as the limit, and the price of a request: it has not changed here.',
  lesson:
    'A core that others use as well is a smaller core. The service cannot tell, the kernel can: time it waited for a core.',
  symptoms: [
    'At some hours the service takes far less than at others. The build is the same, the load is the same, the database has nothing to do. Its own CPU per request is what it always was.',
    'At those hours a report is computed on the same host: one program that never rests.',
  ],
  remark: ({ pinned, cores }) =>
    pinned
      ? null
      : `Nothing can be pinned here, so there will be a neighbour for each core (${cores}), beside the generator and Postgres, too. Where four fifths are asked for, 1.15 x of what it does beside it is enough.`,
  before: () => [closed('alone', SERVICE, CLIENTS)],
  figures: (found) => ({ alone: figure(goodput(found, 'alone')) }),
  predict: {
    text: 'Alone it takes {alone}/s in a closed loop. Now one other program that never rests runs on the same core. How much is left, in percent?',
    kind: number('% of what it did alone', 0, 200),
    hints: [
      'Two who both want the core all the time: what would you call fair?',
      'The service does not want it all the time: look how full its core was alone.',
    ],
    solution: () => '55',
    wrong: () => '100',
  },
  first: (found) => [closed('beside', crowded(found), CLIENTS)],
  rows: {
    alone: 'alone',
    'with a neighbour': 'beside',
    ...Object.fromEntries(Object.entries(KNOBS).map(([name, cell]) => [cellName(cell), name])),
  },
  columns: ['goodput/s', 'p50', 'p99', 'API core', 'API waits', 'CPU us'],
  compare: (found) => guessedLeft(found.answers.predict, times(found, 'beside', 'alone')),
  turn: {
    text: `The neighbour stays, and so does its core. What brings back four fifths of what the service did alone?`,
    kind: choice({
      pool: 'POOL_MAX=80',
      batches: 'BATCH_SLOTS=8: more statements on their way',
      timeout: 'POOL_CONNECT_TIMEOUT_MS=30000',
      nice: 'the lowest priority for the neighbour (nice 19)',
    }),
    hints: [
      'The service waits, and not for anything that it has a knob for. For whom does it wait, and who decides?',
      'The scheduler shares a core by weight. One of the answers changes a weight.',
    ],
    solution: () => 'd',
    wrong: () => 'a',
  },
  again: (found) => {
    const name = found.answers.turn
    return [closed(name, { ...crowded(found), ...KNOBS[name] }, CLIENTS)]
  },
  outcome: (found) => {
    const [left, gain] = ['alone', 'beside'].map((base) => times(found, found.answers.turn, base))
    return {
      solved: found.facts.pinned ? left >= BACK && gain >= GAIN : gain >= SHARED_GAIN,
      because: `${figure(100 * left)} % of what it did alone, ${gain.toFixed(2)} x what it did beside the neighbour`,
    }
  },
  discussion: [
    'The price of a request did not change; the core did. So the place to look is not in the service: time in which it could run and got no core (`/proc/PID/schedstat`), pressure (`/proc/pressure/cpu`), and on a rented machine steal.',
    'A host that gives your core to others is a neighbour whom you cannot renice. Measure again at another time, or on a core of your own.',
    'A measurement beside a neighbour says nothing about the service. Redline calls such a trial invalid, and repeats it; here it is what we wanted to see.',
  ],
}

/** @param {Found} found @returns {Cell} */
function crowded({ facts }) {
  return { ...SERVICE, NEIGHBOURS: facts.pinned ? 1 : facts.cores }
}
