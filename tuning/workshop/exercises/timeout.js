import { wholePercent } from '../../../load/report/format.js'
import { figure, promised } from '../evidence.js'
import { choice, setting } from '../exercise.js'
import { closed, FAR, goodput, moreThanPeak, offered, PATIENT, times } from '../loads.js'

/** @import { Exercise } from '../exercise.js' */

const IMPATIENT = { ...FAR, ...PATIENT, POOL_CONNECT_TIMEOUT_MS: 500 }
const LONG = { ...IMPATIENT, POOL_CONNECT_TIMEOUT_MS: 30_000 }
const LOAD = { connections: 2500, duration_s: 4 }

/** What either timeout does is looked at, and neither keeps the promise. */
const BROKEN = { ...LOAD, countsAlways: true }

/** Goodput by goodput: within this, it is the same. */
const SAME = 1.25

/** @type {Exercise} */
export const timeout = {
  id: 'timeout',
  title: 'The timeout that only moves the waiting',
  minutes: 6,
  needs: 'The pool as places: what goes through it is places / time.',
  lesson: 'A timeout chooses between an error now and an answer later. It adds no capacity.',
  symptoms: [
    'At noon users get errors: 503, no database connection within `POOL_CONNECT_TIMEOUT_MS=500`. The database is `5 ms` away, the pool has four connections, and more is asked than goes through.',
    'A change is proposed: `POOL_CONNECT_TIMEOUT_MS=30000`. "Then nobody gets an error." It was tried on a laptop, and it is true.',
  ],
  before: () => [closed('peak', LONG, 32)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(moreThanPeak(found)) }),
  predict: {
    text: 'It takes {peak}/s, and {rate}/s are offered for four seconds. What does the longer timeout do to the successes per second?',
    kind: choice({
      more: 'more of them: those who got an error are served now',
      same: 'as many as before: everybody waits instead',
      fewer: 'fewer of them: waiting costs',
    }),
    hints: [
      'Count the places. Did any come?',
      'With the short timeout no place was ever empty: whoever gave up had somebody behind.',
    ],
    solution: () => 'b',
    wrong: () => 'a',
  },
  first: (found) => [
    offered('500 ms', IMPATIENT, moreThanPeak(found), BROKEN),
    offered('30 s', LONG, moreThanPeak(found), BROKEN),
  ],
  rows: { '500 ms': '500 ms', '30 s': '30 s', yours: 'again' },
  columns: ['offered', 'goodput/s', 'success', 'refused', 'accepted p99', 'API core', 'pool used', 'waiting'],
  compare: (found) => {
    const gain = times(found, '30 s', '500 ms')
    const happened = gain > SAME ? 'more' : gain < 1 / SAME ? 'fewer' : 'same'
    const [short, long] = ['500 ms', '30 s'].map((name) => wholePercent(found.trials[name].traffic.success_ratio))
    return {
      right: found.answers.predict === happened,
      text: `Successes per second: ${gain.toFixed(2)} x. Success ratio: from ${short} to ${long}.`,
    }
  },
  turn: {
    text: 'Now make it good: at {rate}/s, every answer a success and p99 within 100 ms. Turn one knob of these.',
    kind: setting('POOL_CONNECT_TIMEOUT_MS', 'POOL_MAX', 'MAX_QUEUE_MS', 'INSERT_MODE'),
    hints: [
      'No timeout can do it: one gives errors, the other a wait.',
      'Two knobs add places, or make one place do for many rows.',
      'The exercise before this one has the arithmetic for POOL_MAX. Leave some that are free.',
    ],
    solution: () => 'POOL_MAX=16',
    wrong: () => 'POOL_CONNECT_TIMEOUT_MS=5000',
  },
  again: (found) => {
    const { name, level } = found.answers.turn
    return [offered('again', { ...IMPATIENT, [name]: level }, moreThanPeak(found), LOAD)]
  },
  outcome: ({ trials }) => promised(trials.again),
  discussion: [
    'The success ratio rose, and nothing else did: the same number of people a second were served, and all had waited. A report with "success ratio" alone calls that an improvement.',
    'The four seconds of the exercise end. A noon does not: with the longer timeout the wait grows until the timeout is reached, and then the errors are back, later.',
    'A longer timeout is right for a burst that ends before it does. For a rate that is too high there are two answers: more places, or to say no early. The second comes in three exercises.',
  ],
}
