import { capacityOf } from '../../../load/capacity/ladder.js'
import { count, ratesText } from '../../../load/report/format.js'
import { figure } from '../evidence.js'
import { number } from '../exercise.js'
import { closed, goodput, offered, rounded } from '../loads.js'

/** @import { Exercise, Found } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'single' }

/** Shares of what the closed loop got done. */
const LADDER = [0.3, 0.6, 0.9, 1.2, 2]
const RUNGS = LADDER.map((share) => `${share} x`)
const PROMISES = ['promise', 'once more']

/** A promise of less than this share of what held keeps half of the machine idle. */
const TIMID = 0.5

/** Beside the interval: it was measured once. */
const NEAR = 0.2

/** @type {Exercise} */
export const knee = {
  id: 'knee',
  title: 'Where does it bend?',
  minutes: 6,
  needs: '',
  lesson:
    'A service has no speed: it has a rate up to which it keeps its promise. Below, latency is flat; above, it is a queue.',
  symptoms: [
    'A service stores users. At night everybody is content. At noon some wait for seconds, and by two it is over. Nobody changed anything.',
    'Its promise (the SLO): every answer a success, and p99 within 100 ms. 99 of 100 requests are answered in that time or less.',
    'A colleague has measured: so many connections, each sends its next request as soon as it has an answer. She has the most that comes out of that. Is it the rate that can be promised?',
  ],
  before: () => [closed('peak', SERVICE, 64)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')) }),
  predict: {
    text: '64 connections, each waiting for its answer, got {peak}/s done. Now requests come on a schedule, as from people who do not wait for each other. Up to which rate is the promise kept?',
    kind: number('requests/s', 1, 1_000_000),
    hints: [
      'The 64 never ask for more than the service gives: while it is slow, they wait and do not ask.',
      'People do. At exactly the peak rate nothing is left to make up for a stall, so a queue that forms never ends.',
      'Say something below the peak: two thirds to nine tenths of it.',
    ],
    solution: (found) => String(rounded(0.9 * goodput(found, 'peak'))),
    wrong: (found) => String(rounded(3 * goodput(found, 'peak'))),
  },
  first: (found) => LADDER.map((share, i) => offered(RUNGS[i], SERVICE, rounded(share * goodput(found, 'peak')))),
  rows: Object.fromEntries(['peak', ...RUNGS, ...PROMISES].map((name) => [name, name])),
  columns: ['offered', 'goodput/s', 'p50', 'p99', 'API core', 'Postgres', 'outcome'],
  compare: (found) => {
    const { low_rps, high_rps } = boundsOf(found)
    const guess = found.answers.predict
    // Where no rate failed, nobody knows how far it goes.
    const right = guess >= Number(low_rps) * (1 - NEAR) && guess <= Number(high_rps ?? low_rps) * (1 + NEAR)
    const rates = low_rps === null && high_rps === null ? 'nothing was judged' : ratesText({ low_rps, high_rps })
    return { right, text: `You said ${count(guess)}/s. Kept: ${rates}.` }
  },
  turn: {
    text: 'Read the column p99 from top to bottom: where is the knee? Now promise: which rate shall this service be sold with? It is offered twice.',
    kind: number('requests/s', 1, 1_000_000),
    hints: [
      'The largest rate that passed is known to have passed once. Noise does not ask.',
      'Stay below the largest rate that passed, by a quarter or so; not by half, somebody pays for the machine.',
    ],
    solution: (found) => String(rounded(0.7 * Number(boundsOf(found).low_rps ?? 0.3 * goodput(found, 'peak')))),
    wrong: (found) => String(rounded(1.5 * Number(boundsOf(found).high_rps ?? 2 * goodput(found, 'peak')))),
  },
  again: (found) => PROMISES.map((name) => offered(name, SERVICE, found.answers.turn, { duration_s: 4 })),
  outcome: (found) => {
    const promised = found.answers.turn
    const broken = PROMISES.find((name) => found.trials[name].outcome.verdict !== 'pass')
    if (broken) return { solved: false, because: `it was not kept: ${found.trials[broken].outcome.because}` }
    const held = Number(boundsOf(found).low_rps)
    if (promised < TIMID * held) {
      return { solved: false, because: `kept, but ${count(held)}/s held as well: less than half of it is promised` }
    }
    return { solved: true, because: `${count(promised)}/s was kept twice` }
  },
  discussion: [
    'Below the knee the latency hardly knows the rate: each request finds the service nearly idle. Above it, every second leaves more requests behind than the one before, so p99 tells how long the load lasted, not how fast the service is.',
    'Whoever offers more gets no more done. Compare goodput of the last two rates.',
    'That is why a capacity is a rate with a promise beside it. `npm run sweep` finds it as an interval, with repeats.',
  ],
}

/** @param {Found} found */
function boundsOf({ trials }) {
  return capacityOf(RUNGS.map((name) => trials[name])) ?? { low_rps: null, high_rps: null }
}
