import { milliseconds } from '../../../load/report/format.js'
import { figure, guessedLeft } from '../evidence.js'
import { number } from '../exercise.js'
import { closed, FAR, goodput, offered, PATIENT, rounded, times } from '../loads.js'

/** @import { Exercise, Found } from '../exercise.js' */

const SERVICE = { ...FAR, ...PATIENT }
const TIMES = 2

/** Half has to be refused: what becomes of the other half is looked at. */
const LOAD = { connections: 2500, duration_s: 4, countsAlways: true }

/** What somebody who is let in may wait, at p99, and what has to be left of the peak. */
const MOST_MS = 500
const LEAST_SHARE = 0.75

/** @type {Exercise} */
export const overload = {
  id: 'overload',
  title: 'More than it takes',
  minutes: 6,
  needs: 'A timeout moves the waiting; a queue grows as long as the load lasts.',
  lesson: 'Refuse early and cheaply whoever would wait too long: goodput stays, and who is let in is served in time.',
  symptoms: [
    'It was in the news. Twice as many come as the service takes, with the database `5 ms` away and four connections to it. Nobody gets an error; nobody gets an answer in time either.',
    'There is no more capacity to be had tonight: no knob of the exercises before may be turned. The choice is whom to serve.',
  ],
  before: () => [closed('peak', SERVICE, 32)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(rateOf(found)) }),
  predict: {
    text: 'The peak is {peak}/s; {rate}/s are offered for four seconds and nobody is refused. How much of the peak is still done, in percent?',
    kind: number('% of the peak', 0, 200),
    hints: [
      'The places are never empty. Who is in them?',
      'Does a request that has waited for two seconds take the database longer than one that has not?',
    ],
    solution: () => '100',
    wrong: () => '40',
  },
  first: (found) => [offered('no limit', SERVICE, rateOf(found), LOAD)],
  rows: { peak: 'peak', 'no limit': 'no limit', yours: 'again' },
  columns: ['offered', 'goodput/s', 'success', 'refused', 'accepted p99', 'API core', 'waiting'],
  compare: (found) => {
    const { right, text } = guessedLeft(found.answers.predict, times(found, 'no limit', 'peak'))
    return { right, text: `${text} p99: ${milliseconds(found.trials['no limit'].traffic.ok_latency_ms?.p99)}.` }
  },
  turn: {
    text: `Whoever would wait longer than MAX_QUEUE_MS gets a 503 on arrival. Choose it so that who is let in is answered within \`${MOST_MS} ms\` at p99, and three quarters of the peak are still done. MAX_QUEUE_MS=`,
    kind: number('ms', 1, 600_000),
    hints: [
      'What somebody waits in the queue is a part of the answer time; the statement comes on top.',
      'Too short is no good either: a queue that is often empty leaves places empty.',
      'A fifth of what is allowed.',
    ],
    solution: () => '100',
    wrong: () => '5000',
  },
  expect: {
    text: 'And how much of the peak will be done then, in percent?',
    kind: number('% of the peak', 0, 200),
    hints: [
      'To refuse is work as well, but not for the one that is full here: that is the pool, and the database behind it.',
    ],
    solution: () => '95',
    wrong: () => '50',
  },
  again: (found) => [offered('again', { ...SERVICE, MAX_QUEUE_MS: found.answers.turn }, rateOf(found), LOAD)],
  compareExpected: (found) => guessedLeft(found.answers.expect, times(found, 'again', 'peak')),
  outcome: (found) => {
    const p99_ms = found.trials.again.traffic.ok_latency_ms?.p99 ?? Number.POSITIVE_INFINITY
    const left = times(found, 'again', 'peak')
    return {
      solved: p99_ms <= MOST_MS && left >= LEAST_SHARE,
      because: `who was let in: p99 ${milliseconds(p99_ms)}; ${figure(100 * left)} % of the peak was done`,
    }
  },
  discussion: [
    'Half of the requests are refused in both worlds: at once, with a word that says when to try again; or never, after a wait that they may have given up.',
    'The bound is a time and not a number of requests: a thousand who wait are seconds for this service and nothing for a fast one.',
    'Where the core of the service is full, and not the database, a refusal costs about half of what a request costs, and refusing everything that is too much would leave nothing for the rest. `npm run overload` shows it.',
  ],
}

/** @param {Found} found */
function rateOf(found) {
  return rounded(TIMES * goodput(found, 'peak'))
}
