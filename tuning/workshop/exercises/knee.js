import { capacityOf } from '../../../load/capacity/ladder.js'
import { count } from '../../../load/report/format.js'
import { number } from '../answers.js'
import { closed, goodput, offered, ofPeak, rounded, unsolved } from '../kit.js'

/** @import { Found, Rules } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'single' }

/** Shares of the goodput of the closed loop. */
const LADDER = [0.3, 0.6, 0.9, 1.2, 2]
const RUNGS = LADDER.map((share) => `${share} x`)
const PROMISES = ['promise', 'once more']

/** A promise below this share of the rate that held leaves half of the machine idle. */
const TIMID = 0.5

/** Share by which a guess may lie outside the interval, which was measured only once. */
const NEAR = 0.2

/** @type {Rules} */
export const knee = {
  before: () => closed('peak', SERVICE, 64),
  predict: {
    kind: number('requests/s', 1, 1_000_000),
    solution: (found) => String(ofPeak(found, 0.9)),
    wrong: '50',
    compare: (found) => {
      const { low_rps, high_rps } = boundsOf(found)
      const guess = found.answers.predict
      // If no rate failed, the upper bound is unknown.
      const right = guess >= Number(low_rps) * (1 - NEAR) && guess <= Number(high_rps ?? low_rps) * (1 + NEAR)
      return { right, text: `You said ${count(guess)}/s. ${keptText({ low_rps, high_rps })}` }
    },
  },
  first: (found) => LADDER.map((share, i) => offered(RUNGS[i], SERVICE, ofPeak(found, share))),
  columns: ['offered', 'goodput/s', 'p50', 'p99', 'API core', 'Postgres', 'outcome'],
  turn: {
    kind: number('requests/s', 1, 1_000_000),
    solution: (found) => String(rounded(0.7 * Number(boundsOf(found).low_rps ?? 0.3 * goodput(found, 'peak')))),
    wrong: '50',
  },
  again: (found) => PROMISES.map((name) => offered(name, SERVICE, found.answers.turn, { duration_s: 4 })),
  outcome: (found) => {
    const promised = found.answers.turn
    const broken = PROMISES.find((name) => found.trials[name].outcome.verdict !== 'pass')
    if (broken) return unsolved(`the promise was broken: ${found.trials[broken].outcome.because}`)
    const held = Number(boundsOf(found).low_rps)
    if (promised >= TIMID * held) return { solved: true, because: `${count(promised)}/s was kept twice` }
    return unsolved(`kept, but the service also held ${count(held)}/s, and less than half of that was promised`)
  },
}

/** Up to which rate the promise was kept. @param {{ low_rps: number | null, high_rps: number | null }} bounds */
function keptText({ low_rps, high_rps }) {
  if (low_rps === null && high_rps === null) return 'No rate could be judged.'
  if (low_rps === null) return `The promise was broken already at ${count(Number(high_rps))}/s.`
  if (high_rps === null) return `The promise was kept up to at least ${count(low_rps)}/s.`
  return `The promise was kept up to a rate between ${count(low_rps)} and ${count(high_rps)}/s.`
}

/** @param {Found} found */
function boundsOf({ trials }) {
  return capacityOf(RUNGS.map((name) => trials[name])) ?? { low_rps: null, high_rps: null }
}
