import { figure, isNear, limitText, promised } from '../evidence.js'
import { choice, closed, goodput, number, offered, ofPeak, setting, times } from '../kit.js'

/** @import { Rules } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'single' }
const TIMES = 2
const LOAD = { connections: 512 }

/** @type {Rules} */
export const batching = {
  before: () => [closed('peak', SERVICE, 64)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(ofPeak(found, TIMES)) }),
  predict: {
    kind: choice,
    solution: ({ facts }) => (facts.pinned ? 'postgres-cpu' : 'api-cpu'),
    wrong: () => 'pool-size',
  },
  first: (found) => [offered('as it is', SERVICE, ofPeak(found, TIMES), LOAD)],
  rows: { peak: 'peak', 'as it is': 'as it is', yours: 'again', 'your peak': 'top' },
  columns: ['offered', 'goodput/s', 'p99', 'API core', 'CPU us', 'Postgres', 'rows/statement'],
  notes: {
    'as it is': (trial) => {
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
    kind: setting('POOL_MAX', 'INSERT_MODE', 'POOL_CONNECT_TIMEOUT_MS', 'BATCH_SLOTS'),
    solution: () => 'INSERT_MODE=batched',
    wrong: () => 'POOL_MAX=80',
  },
  expect: { kind: number('times', 0.1, 100, { whole: false }), solution: () => '4' },
  again: (found) => {
    const { name, level } = found.answers.turn
    const cell = { ...SERVICE, [name]: level }
    return [offered('again', cell, ofPeak(found, TIMES), LOAD), closed('top', cell, 64)]
  },
  compareExpected: (found) => {
    const [said, was] = [found.answers.expect, times(found, 'top', 'peak')]
    return { right: isNear(said / was, [0.67, 1.5]), text: `You said ${said} x, it was ${was.toFixed(1)} x.` }
  },
  outcome: ({ trials }) => promised(trials.again),
}
