import { milliseconds } from '../../../load/report/format.js'
import { nameOf } from '../../stats/design.js'
import { evidenceTable, figure } from '../evidence.js'
import { choice, number } from '../exercise.js'
import { closed, goodput } from '../loads.js'

/** @import { Exercise } from '../exercise.js' */

/** Nobody is refused: sixteen who wait for a hash would be too many at once. */
const SERVICE = { PASSWORD_STORAGE: 'scrypt', MAX_QUEUE_MS: '0', MAX_LOOP_DELAY_MS: '0' }
const CLIENTS = 8

/** Few hashes a second: it takes a while to count them. */
const LOAD = { duration_s: 6 }

/** So much more is a second core, and no luck. */
const GAIN = 1.3

/** What each answer turns. @type {Record<string, Record<string, string>>} */
const KNOBS = {
  pool: { POOL_MAX: '80' },
  threads: { UV_THREADPOOL_SIZE: '16' },
  cores: { CORES: 'all' },
}

/** @type {Exercise} */
export const hash = {
  id: 'hash',
  title: 'The hash that eats the core',
  minutes: 6,
  needs: 'CPU for each request as its price; a knob helps only where the limit is.',
  lesson: 'Work that takes CPU takes it on whatever thread. More threads are no more core.',
  symptoms: [
    'After an audit, passwords are hashed by scrypt. Signing up has become slow, and when some do it at the same time, very slow. The event loop is fine: health checks are answered at once.',
    'It was done by the book: hashes are made on the threads of libuv, four of them, and never on the event loop.',
  ],
  before: () => [closed('one', SERVICE, 1)],
  predict: {
    text: `One client after the other: {each} for each, {rate}/s. Now ${CLIENTS} clients at the same time, and libuv has four threads. How many a second?`,
    figures: ({ trials }) => ({
      each: milliseconds(trials.one.traffic.latency_ms?.p50),
      rate: figure(trials.one.traffic.goodput_rps),
    }),
    kind: number('requests/s', 0, 100_000, { whole: false }),
    hints: [
      'Four threads. On how many cores?',
      'One client alone: did the core have anything left to do while it hashed?',
    ],
    solution: (found) => figure(goodput(found, 'one') * (found.facts.pinned ? 1 : Math.min(4, found.facts.cores))),
    wrong: (found) => String(Math.round(100 * goodput(found, 'one'))),
  },
  first: () => [closed('many', SERVICE, CLIENTS, LOAD)],
  evidence: ({ trials }) => {
    const own = Object.fromEntries(Object.entries(KNOBS).map(([name, levels]) => [nameOf(levels), trials[name]]))
    return evidenceTable({ 'one client': trials.one, 'many clients': trials.many, ...own }, [
      'offered',
      'goodput/s',
      'p50',
      'API core',
      'hashes at once',
      'CPU us',
    ])
  },
  compare: (found) => {
    const got = goodput(found, 'many')
    const ratio = found.answers.predict / got
    const text = `You said ${found.answers.predict}/s, it was ${figure(got)}/s: ${(got / goodput(found, 'one')).toFixed(1)} x one client.`
    return { right: ratio > 0.7 && ratio < 1.4, text }
  },
  turn: {
    text: `Passwords stay hashed. Which of these brings ${GAIN} times as many a second, or more, on this machine?`,
    kind: choice(
      {
        pool: 'POOL_MAX=80',
        threads: 'UV_THREADPOOL_SIZE=16: more threads',
        cores: 'all cores of this machine for the service, instead of one',
        none: 'none of them',
      },
      { only: (value, { pinned }) => value !== 'cores' || pinned },
    ),
    hints: [
      'The column "API core": what does a thread do that has no core?',
      'A second core would do it. Does the service have one that it does not use: is it pinned to one, are there more cores than threads?',
    ],
    solution: ({ facts }) => (facts.pinned ? 'c' : facts.cores > 5 ? 'b' : 'c'),
    wrong: () => 'a',
  },
  // Whoever says none has said something about each.
  again: ({ facts, answers }) => {
    const all = Object.keys(KNOBS).filter((name) => name !== 'cores' || facts.pinned)
    const names = answers.turn === 'none' ? all : [answers.turn]
    return names.map((name) => closed(name, { ...SERVICE, ...KNOBS[name] }, CLIENTS, LOAD))
  },
  outcome: (found) => {
    const { facts, answers } = found
    const times = (/** @type {string} */ name) => goodput(found, name) / goodput(found, 'many')
    if (answers.turn !== 'none') {
      return { solved: times(answers.turn) >= GAIN, because: `it brought ${times(answers.turn).toFixed(2)} x` }
    }
    const all = Object.keys(KNOBS).filter((name) => name !== 'cores' || facts.pinned)
    const best = all.reduce((a, b) => (times(a) >= times(b) ? a : b))
    return { solved: times(best) < GAIN, because: `the best of them, ${best}, brought ${times(best).toFixed(2)} x` }
  },
  discussion: [
    'scrypt is meant to be dear: that is what protects the passwords. A price of so many milliseconds of a core is a rate of so many a second and core, whoever computes it.',
    'The threads did their part: the event loop stayed free, so health checks and all other requests were answered. On the loop, one hash would stop everybody (`npm run faults -- --only synchronous-scrypt`).',
    'On one core nothing is left but to need fewer: sign up once, sign in by a token; or to bound how many hash at once, and refuse the others early.',
  ],
}
