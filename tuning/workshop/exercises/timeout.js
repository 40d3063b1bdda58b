import { wholePercent } from '../../../load/report/format.js'
import { choice, setting } from '../answers.js'
import { closed, FAR, moreThanPeak, offered, PATIENT, promised, times } from '../kit.js'

/** @import { Rules } from '../exercise.js' */

const IMPATIENT = { ...FAR, ...PATIENT, POOL_CONNECT_TIMEOUT_MS: 500 }
const LONG = { ...IMPATIENT, POOL_CONNECT_TIMEOUT_MS: 30_000 }
const LOAD = { connections: 2500, duration_s: 4 }

/** Neither timeout meets the SLO; the effect of each is the subject. */
const BROKEN = { ...LOAD, countsAlways: true }

/** Goodputs within this factor count as the same. */
const SAME = 1.25

/** @type {Rules} */
export const timeout = {
  before: () => closed('peak', LONG, 32),
  predict: {
    kind: choice,
    solution: () => 'same',
    wrong: 'more',
    compare: (found) => {
      const gain = times(found, '30 s', '500 ms')
      const happened = gain > SAME ? 'more' : gain < 1 / SAME ? 'fewer' : 'same'
      const [short, long] = ['500 ms', '30 s'].map((name) => wholePercent(found.trials[name].traffic.success_ratio))
      const text = `Successes per second: ${gain.toFixed(2)} x. Success ratio: from ${short} to ${long}.`
      return { right: found.answers.predict === happened, text }
    },
  },
  first: (found) => [
    offered('500 ms', IMPATIENT, moreThanPeak(found), BROKEN),
    offered('30 s', LONG, moreThanPeak(found), BROKEN),
  ],
  columns: ['offered', 'goodput/s', 'success', 'refused', 'accepted p99', 'API core', 'pool used', 'waiting'],
  turn: {
    kind: setting('POOL_CONNECT_TIMEOUT_MS', 'POOL_MAX', 'MAX_QUEUE_MS', 'INSERT_MODE'),
    solution: () => 'POOL_MAX=16',
    wrong: 'POOL_CONNECT_TIMEOUT_MS=5000',
  },
  again: (found) => {
    const { name, level } = found.answers.turn
    return [offered('again', { ...IMPATIENT, [name]: level }, moreThanPeak(found), LOAD)]
  },
  outcome: ({ trials }) => promised(trials.again),
}
