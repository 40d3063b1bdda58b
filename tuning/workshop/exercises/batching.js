import { choice, number, setting } from '../answers.js'
import { closed, guessedLimit, guessedNumber, limitText, offered, ofPeak, promised, times } from '../kit.js'

/** @import { Rules } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'single' }
const TIMES = 2
const LOAD = { connections: 512 }

/** @type {Rules} */
export const batching = {
  before: () => closed('peak', SERVICE, 64),
  predict: {
    kind: choice,
    solution: ({ facts }) => (facts.pinned ? 'postgres-cpu' : 'api-cpu'),
    wrong: 'pool-size',
    compare: (found) => {
      const { runner_up } = found.trials['as it is'].limit
      const { right, text } = guessedLimit(found)
      return { right, text: runner_up === null ? text : `${text} Runner-up: ${runner_up}.` }
    },
  },
  first: (found) => [offered('as it is', SERVICE, ofPeak(found, TIMES), LOAD)],
  columns: ['offered', 'goodput/s', 'p99', 'API core', 'CPU us', 'Postgres', 'rows/statement'],
  notes: {
    'as it is': (trial) => {
      const { runner_up, runner_up_evidence } = trial.limit
      return [limitText(trial), ...(runner_up ? [`Runner-up: ${runner_up}: ${runner_up_evidence.join('; ')}.`] : [])]
    },
  },
  turn: {
    kind: setting('POOL_MAX', 'INSERT_MODE', 'POOL_CONNECT_TIMEOUT_MS', 'BATCH_SLOTS'),
    solution: () => 'INSERT_MODE=batched',
    wrong: 'POOL_MAX=80',
  },
  expect: {
    kind: number('times', 0.1, 100, { whole: false }),
    solution: () => '4',
    compare: (found) => guessedNumber(found.answers.expect, times(found, 'new peak', 'peak'), [0.67, 1.5], ' x'),
  },
  again: (found) => {
    const { name, level } = found.answers.turn
    const cell = { ...SERVICE, [name]: level }
    return [offered('again', cell, ofPeak(found, TIMES), LOAD), closed('new peak', cell, 64)]
  },
  outcome: ({ trials }) => promised(trials.again),
}
