import { figure, guessed, limitText, promised } from '../evidence.js'
import { choice, number } from '../exercise.js'
import { closed, FAR, goodput, moreThanPeak, offered } from '../loads.js'

/** @import { Exercise, Found } from '../exercise.js' */

/** More connections than so many times the need are no answer but a hope. */
const LAVISH = 4

/** @type {Exercise} */
export const little = {
  id: 'little',
  title: 'The database moves away',
  minutes: 6,
  needs: "Little's law, from the connections of the closed loop; the generator is no longer a suspect.",
  lesson: 'Connections needed = rate x time that a statement holds one. Distance is time.',
  symptoms: [
    'The database has moved to another zone, 5 ms away. Since then the service takes a fraction of what it took, and both machines are bored: neither core is half full.',
    'Somebody says: it is the network. Somebody says: Postgres needs more cores. The pool has four connections, as ever.',
  ],
  before: () => [closed('peak', FAR, 32)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(moreThanPeak(found)) }),
  predict: {
    text: 'It takes {peak}/s now, and has to take {rate}/s. What stops it?',
    kind: choice({
      'api-cpu': 'the core of the service',
      'postgres-cpu': 'the cores of Postgres',
      'pool-size': 'the connections of the pool',
      network: 'the network between client and service',
    }),
    hints: [
      'A statement holds its connection while it travels, too.',
      'Four connections, each held for so many milliseconds: how many statements can begin in a second?',
    ],
    solution: () => 'c',
    wrong: () => 'd',
  },
  first: (found) => [offered('as it is', FAR, moreThanPeak(found), { connections: 1000 })],
  rows: { peak: 'peak', 'as it is': 'as it is', yours: 'again' },
  columns: ['offered', 'goodput/s', 'p99', 'refused', 'API core', 'pool used', 'waiting', 'statement'],
  notes: { of: 'as it is', lines: (trial) => [limitText(trial)] },
  compare: ({ trials, answers }) => {
    const { resource } = trials['as it is'].limit
    return { right: answers.predict === resource, text: `At its limit: ${resource}.` }
  },
  turn: {
    text: 'How many connections does the pool need to take {rate}/s and keep the promise (p99 within 100 ms)? POOL_MAX=',
    kind: number('connections', 1, 150),
    hints: [
      'The table has both factors: the rate that is wanted, and what a statement takes.',
      'In use = rate x seconds. That many would be in use all the time; a queue needs some that are free.',
      'Half as many again as the product.',
    ],
    solution: (found) => String(Math.ceil(1.6 * needOf(found))),
    wrong: () => '5',
  },
  expect: {
    text: 'And how many of them will be in use, on the average?',
    kind: number('connections', 0, 150, { whole: false }),
    hints: ["Little's law has no other answer: rate x time, however many there are."],
    solution: (found) => needOf(found).toFixed(1),
    wrong: (found) => String(found.answers.turn * 2),
  },
  again: (found) => {
    return [offered('again', { ...FAR, POOL_MAX: found.answers.turn }, moreThanPeak(found), { connections: 1000 })]
  },
  compareExpected: ({ trials, answers }) => {
    const used = Number(trials.again.probes.api.pool_used_mean)
    return guessed(answers.expect, used, 1.4, `You said ${answers.expect}, ${figure(used)} were in use.`)
  },
  outcome: (found) => {
    const { solved, because } = promised(found.trials.again)
    const most = Math.ceil(LAVISH * needOf(found))
    if (!solved || found.answers.turn <= most) return { solved, because }
    return { solved: false, because: `kept, but with more than ${most} connections, which Postgres pays for` }
  },
  discussion: [
    'A pool is a number of places. The rate through it is places / time in a place, and no timeout, core or flag appears in that.',
    'The law has no opinion on why a statement takes its time. Where twice the pool makes each statement take twice as long, something behind it is full, and the pool was the messenger.',
    'Postgres has a process for each connection. A pool that is sized by fear (200 "to be safe") moves the queue into the database, where nobody counts it.',
  ],
}

/** Connections in use at the rate that is wanted. @param {Found} found */
function needOf(found) {
  const statement_ms = Number(found.trials['as it is'].probes.api.statement_mean_ms)
  return (moreThanPeak(found) * statement_ms) / 1000
}
