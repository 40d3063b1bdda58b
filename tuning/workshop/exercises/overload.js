import { figure, milliseconds } from '../../../load/report/format.js'
import { number } from '../answers.js'
import { closed, FAR, guessedLeft, offered, ofPeak, PATIENT, times } from '../kit.js'

/** @import { Rules } from '../exercise.js' */

const SERVICE = { ...FAR, ...PATIENT }
const TIMES = 2

/** Half of the requests must be refused; the other half is the subject. */
const LOAD = { connections: 2500, duration_s: 4, countsAlways: true }

/** Maximum p99 of the admitted requests, and minimum share of the peak that must be left. */
const MOST_MS = 500
const LEAST_SHARE = 0.75

/** @type {Rules} */
export const overload = {
  constants: { most_ms: MOST_MS },
  before: () => closed('peak', SERVICE, 32),
  predict: {
    kind: number('% of the peak', 0, 200),
    solution: () => '100',
    wrong: '40',
    compare: (found) => {
      const { right, text } = guessedLeft(found.answers.predict, times(found, 'no limit', 'peak'))
      return { right, text: `${text} p99: ${milliseconds(found.trials['no limit'].traffic.ok_latency_ms?.p99)}.` }
    },
  },
  first: (found) => [offered('no limit', SERVICE, ofPeak(found, TIMES), LOAD)],
  columns: ['offered', 'goodput/s', 'success', 'refused', 'accepted p99', 'API core', 'waiting'],
  turn: { kind: number('ms', 1, 600_000), solution: () => '100', wrong: '5000' },
  expect: {
    kind: number('% of the peak', 0, 200),
    solution: () => '95',
    compare: (found) => guessedLeft(found.answers.expect, times(found, 'again', 'peak')),
  },
  again: (found) => [offered('again', { ...SERVICE, MAX_QUEUE_MS: found.answers.turn }, ofPeak(found, TIMES), LOAD)],
  outcome: (found) => {
    const p99_ms = found.trials.again.traffic.ok_latency_ms?.p99 ?? Number.POSITIVE_INFINITY
    const left = times(found, 'again', 'peak')
    return {
      solved: p99_ms <= MOST_MS && left >= LEAST_SHARE,
      because: `p99 of the admitted requests was ${milliseconds(p99_ms)}; goodput was ${figure(100 * left)} % of the peak`,
    }
  },
}
