import { figure, milliseconds } from '../../../load/report/format.js'
import { choice, number } from '../answers.js'
import { closed, FAR, goodput, guessedNumber, offered, PATIENT, rounded } from '../kit.js'

/** @import { Found, Rules } from '../exercise.js' */

const SERVICE = { ...FAR, ...PATIENT }
const OVER = 1.5
const FEW = 8

/** The load is meant to queue, so it counts although it misses the SLO. */
const LOAD = { connections: 2000, duration_s: 4, countsAlways: true }

/** Ratios of the two p99s: up to the first, the loops agree; from the second, there is a queue. */
const SAME = 1.25
const QUEUE = 2

/** The closed loop shows the same queue if its p99 is within this factor. */
const WITHIN = 2

/** @type {Rules} */
export const loops = {
  constants: { few: FEW, over: OVER },
  before: () => closed('closed', SERVICE, FEW),
  predict: {
    kind: choice,
    solution: () => 'queue',
    wrong: 'half',
    compare: (found) => {
      const times = p99Of(found, 'open') / p99Of(found, 'closed')
      const happened = times <= SAME ? 'same' : times < QUEUE ? 'half' : 'queue'
      const text = `p99 of the open loop: ${figure(times)} x that of the closed one.`
      return { right: found.answers.predict === happened, text }
    },
  },
  first: (found) => [offered('open', SERVICE, rounded(OVER * goodput(found, 'closed')), LOAD)],
  columns: ['offered', 'goodput/s', 'success', 'p50', 'p99', 'API core', 'waiting'],
  turn: {
    kind: number('connections', 1, 5000),
    solution: (found) => String(Math.round((goodput(found, 'open') * p99Of(found, 'open')) / 1000)),
    wrong: '16',
  },
  expect: {
    kind: number('requests/s', 1, 1_000_000),
    solution: (found) => String(rounded(goodput(found, 'closed'))),
    compare: (found) => guessedNumber(found.answers.expect, goodput(found, 'again'), [0.75, 1.33], '/s'),
  },
  // All connections begin at once; the warm-up lets that burst pass.
  again: ({ answers }) => [closed('again', SERVICE, answers.turn, { warmup_s: 3, duration_s: 5 })],
  outcome: (found) => {
    const [own_ms, open_ms] = [p99Of(found, 'again'), p99Of(found, 'open')]
    const because = `p99 ${milliseconds(own_ms)}, the open loop's was ${milliseconds(open_ms)}`
    return { solved: own_ms >= open_ms / WITHIN && own_ms <= open_ms * WITHIN, because }
  },
}

/** @param {Found} found @param {string} name of the measurement */
function p99Of({ trials }, name) {
  return trials[name].traffic.latency_ms?.p99 ?? Number.NaN
}
