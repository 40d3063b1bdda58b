import { figure, isNear, limitText, promised } from '../evidence.js'
import { choice, closed, FAR, goodput, moreThanPeak, number, offered } from '../kit.js'

/** @import { Found, Rules } from '../exercise.js' */

/** More connections than this multiple of the need are a hope, not an answer. */
const LAVISH = 4

/** @type {Rules} */
export const little = {
  before: () => [closed('peak', FAR, 32)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(moreThanPeak(found)) }),
  predict: { kind: choice, solution: () => 'pool-size', wrong: () => 'network' },
  first: (found) => [offered('as it is', FAR, moreThanPeak(found), { connections: 1000 })],
  rows: { peak: 'peak', 'as it is': 'as it is', yours: 'again' },
  columns: ['offered', 'goodput/s', 'p99', 'refused', 'API core', 'pool used', 'waiting', 'statement'],
  notes: { 'as it is': (trial) => [limitText(trial)] },
  compare: ({ trials, answers }) => {
    const { resource } = trials['as it is'].limit
    return { right: answers.predict === resource, text: `At its limit: ${resource}.` }
  },
  turn: {
    kind: number('connections', 1, 150),
    solution: (found) => String(Math.ceil(1.6 * needOf(found))),
    wrong: () => '5',
  },
  expect: { kind: number('connections', 0, 150, { whole: false }), solution: (found) => needOf(found).toFixed(1) },
  again: (found) => {
    return [offered('again', { ...FAR, POOL_MAX: found.answers.turn }, moreThanPeak(found), { connections: 1000 })]
  },
  compareExpected: ({ trials, answers }) => {
    const used = Number(trials.again.probes.api.pool_used_mean)
    return {
      right: isNear(answers.expect / used, [0.7, 1.4]),
      text: `You said ${answers.expect}, ${figure(used)} were in use.`,
    }
  },
  outcome: (found) => {
    const { solved, because } = promised(found.trials.again)
    const most = Math.ceil(LAVISH * needOf(found))
    if (!solved || found.answers.turn <= most) return { solved, because }
    return { solved: false, because: `kept, but with more than ${most} connections, which Postgres pays for` }
  },
}

/** Connections in use at the rate that is wanted. @param {Found} found */
function needOf(found) {
  const statement_ms = Number(found.trials['as it is'].probes.api.statement_mean_ms)
  return (moreThanPeak(found) * statement_ms) / 1000
}
