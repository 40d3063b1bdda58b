import { figure, guessed, limitText, promised } from '../evidence.js'
import { choice, number, setting } from '../exercise.js'
import { closed, goodput, offered, rounded, times } from '../loads.js'

/** @import { Exercise, Found } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'single' }
const TIMES = 2
const LOAD = { connections: 512 }

/** @type {Exercise} */
export const batching = {
  id: 'batching',
  title: 'Requests that travel together',
  minutes: 6,
  needs: 'Reading a limit in the evidence, and its runner-up; a pool that is a messenger.',
  lesson: 'Where each request pays a fixed price (a statement, a commit), sharing it is the knob.',
  symptoms: [
    'The database is near, the pool is large enough, nothing is cut off. A campaign will bring twice the requests that the service takes today, and each has to be on disk before it is answered.',
    'Each request sends a statement of its own (`INSERT_MODE=single`), each statement is a transaction of its own, each transaction ends in a commit.',
  ],
  before: () => [closed('peak', SERVICE, 64)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(rateOf(found)) }),
  predict: {
    text: 'It takes {peak}/s; {rate}/s will come. What will be at its limit?',
    kind: choice({
      'api-cpu': 'the core of the service',
      'postgres-cpu': 'the cores of Postgres',
      'postgres-commit': 'the commits: they wait for the disk',
      'pool-size': 'the connections of the pool, and nothing behind them',
    }),
    hints: [
      'Every statement costs both sides: written, read, parsed, planned, committed. Which side has more to do, and with whom does it share its cores?',
      'A pool is full whenever what is behind it is slow. Ask what the connections wait for.',
    ],
    solution: ({ facts }) => (facts.pinned ? 'b' : 'a'),
    wrong: () => 'd',
  },
  first: (found) => [offered('as it is', SERVICE, rateOf(found), LOAD)],
  rows: { peak: 'peak', 'as it is': 'as it is', yours: 'again', 'your peak': 'top' },
  columns: ['offered', 'goodput/s', 'p99', 'API core', 'CPU us', 'Postgres', 'rows/statement'],
  notes: {
    of: 'as it is',
    lines: (trial) => {
      const { runner_up, runner_up_evidence } = trial.limit
      return [limitText(trial), ...(runner_up ? [`Runner-up: ${runner_up}: ${runner_up_evidence.join('; ')}.`] : [])]
    },
  },
  compare: ({ trials, answers }) => {
    const { resource, runner_up } = trials['as it is'].limit
    const second = runner_up === null ? '' : `; runner-up: ${runner_up}`
    return { right: answers.predict === resource, text: `At its limit: ${resource}${second}.` }
  },
  turn: {
    text: 'Turn one knob so that {rate}/s are taken with the promise kept.',
    kind: setting('POOL_MAX', 'INSERT_MODE', 'POOL_CONNECT_TIMEOUT_MS', 'BATCH_SLOTS'),
    hints: [
      'More places do not help where what is behind them is full; a timeout never does.',
      'Make the work less: a statement that need not be parsed each time; or one statement, and one commit, for all rows that are there at the same time.',
      'INSERT_MODE=batched.',
    ],
    solution: () => 'INSERT_MODE=batched',
    wrong: () => 'POOL_MAX=80',
  },
  expect: {
    text: 'In the closed loop it took {peak}/s. How many times that will it take now?',
    kind: number('times', 0.1, 100, { whole: false }),
    hints: ['What is left of the price of a request, if the statement and the commit are shared by ten?'],
    solution: () => '4',
    wrong: () => '1.1',
  },
  again: (found) => {
    const { name, level } = found.answers.turn
    const cell = { ...SERVICE, [name]: level }
    return [offered('again', cell, rateOf(found), LOAD), closed('top', cell, 64)]
  },
  compareExpected: (found) => {
    const [said, was] = [found.answers.expect, times(found, 'top', 'peak')]
    return guessed(said, was, 1.5, `You said ${said} x, it was ${was.toFixed(1)} x.`)
  },
  outcome: ({ trials }) => promised(trials.again),
  discussion: [
    'Nobody waits for a batch to fill: a statement leaves as soon as it may, with all that is there. At night that is one row, and batching costs nothing and brings nothing. At noon it is tens.',
    'It is still true that 201 means committed. `synchronous_commit=off` gains less, and buys it with rows that a crash takes.',
    'Look at the CPU of the service for each request: it fell, too. The statement cost both sides.',
  ],
}

/** @param {Found} found */
function rateOf(found) {
  return rounded(TIMES * goodput(found, 'peak'))
}
