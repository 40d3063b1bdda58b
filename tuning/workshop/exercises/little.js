import { choice, number } from '../answers.js'
import { closed, FAR, guessedLimit, guessedNumber, limitText, moreThanPeak, offered, promised } from '../kit.js'

/** @import { Found, Rules } from '../exercise.js' */

/** A pool larger than this multiple of the need does not answer how many connections are needed. */
const LAVISH = 4

const LOAD = { connections: 1000 }

/** @type {Rules} */
export const little = {
  before: () => closed('peak', FAR, 32),
  predict: { kind: choice, solution: () => 'pool-size', wrong: 'network', compare: guessedLimit },
  first: (found) => [offered('as it is', FAR, moreThanPeak(found), LOAD)],
  columns: ['offered', 'goodput/s', 'p99', 'refused', 'API core', 'pool used', 'waiting', 'statement'],
  notes: { 'as it is': (trial) => [limitText(trial)] },
  turn: {
    kind: number('connections', 1, 150),
    solution: (found) => String(Math.ceil(1.6 * needOf(found))),
    wrong: '5',
  },
  expect: {
    kind: number('connections', 0, 150, { whole: false }),
    solution: (found) => needOf(found).toFixed(1),
    compare: ({ trials, answers }) => {
      const used = Number(trials.again.probes.api.pool_used_mean)
      return guessedNumber(answers.expect, used, [0.7, 1.4], ' connections')
    },
  },
  again: (found) => [offered('again', { ...FAR, POOL_MAX: found.answers.turn }, moreThanPeak(found), LOAD)],
  outcome: (found) => {
    const { solved, because } = promised(found.trials.again)
    const most = Math.ceil(LAVISH * needOf(found))
    if (!solved || found.answers.turn <= most) return { solved, because }
    return { solved: false, because: `kept, but with more than ${most} connections, which Postgres pays for` }
  },
}

/** Connections in use at the offered rate. @param {Found} found */
function needOf(found) {
  const statement_ms = Number(found.trials['as it is'].probes.api.statement_mean_ms)
  return (moreThanPeak(found) * statement_ms) / 1000
}
