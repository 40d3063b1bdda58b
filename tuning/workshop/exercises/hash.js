import { figure } from '../../../load/report/format.js'
import { choice, number } from '../answers.js'
import { closed, gained, goodput, guessedNumber, times } from '../kit.js'

/** @import { Facts, Measurement, Rules } from '../exercise.js' */

/** No request is refused: requests that wait for a hash would exceed the default limits. */
const SERVICE = { PASSWORD_STORAGE: 'scrypt', MAX_QUEUE_MS: 0, MAX_LOOP_DELAY_MS: 0 }
const CLIENTS = 8

/** There are few hashes per second, so counting them takes a while. */
const LOAD = { duration_s: 6 }

/** A gain that only a second core can bring. */
const GAIN = 1.3

/** The knob of each answer. @type {Record<string, Measurement['cell']>} */
const KNOBS = { pool: { POOL_MAX: 80 }, threads: { UV_THREADPOOL_SIZE: 16 }, cores: { CORES: 'all' } }

/** @type {Rules} */
export const hash = {
  constants: { clients: CLIENTS, gain: GAIN },
  before: () => closed('one', SERVICE, 1),
  predict: {
    kind: number('requests/s', 0, 100_000, { whole: false }),
    solution: (found) => figure(goodput(found, 'one') * (found.facts.pinned ? 1 : Math.min(4, found.facts.cores))),
    wrong: '100000',
    compare: (found) => {
      const { right, text } = guessedNumber(found.answers.predict, goodput(found, 'many'), [0.7, 1.4], '/s')
      return { right, text: `${text} That is ${times(found, 'many', 'one').toFixed(1)} x one client.` }
    },
  },
  first: () => [closed('many', SERVICE, CLIENTS, LOAD)],
  columns: ['offered', 'goodput/s', 'p50', 'API core', 'hashes at once', 'CPU us'],
  turn: {
    kind: (options, { pinned }) => {
      const { cores, ...others } = options
      return choice(pinned ? options : others)
    },
    solution: ({ facts }) => (facts.pinned ? 'cores' : facts.cores > 5 ? 'threads' : 'none'),
    wrong: 'pool',
  },
  // The answer "none" is a claim about every knob.
  again: ({ facts, answers }) => {
    const names = answers.turn === 'none' ? knobsOf(facts) : [answers.turn]
    return names.map((name) => closed(name, { ...SERVICE, ...KNOBS[name] }, CLIENTS, LOAD))
  },
  outcome: (found) => {
    const { facts, answers } = found
    const gain = (/** @type {string} */ name) => times(found, name, 'many')
    if (answers.turn !== 'none') return gained(gain(answers.turn), GAIN)
    const best = knobsOf(facts).reduce((a, b) => (gain(a) >= gain(b) ? a : b))
    const because = `with the best of them, ${best}, goodput is ${gain(best).toFixed(2)} x what it was`
    return { solved: gain(best) < GAIN, because }
  },
}

/** The answers that can be measured here. @param {Facts} facts */
function knobsOf({ pinned }) {
  return Object.keys(KNOBS).filter((name) => name !== 'cores' || pinned)
}
