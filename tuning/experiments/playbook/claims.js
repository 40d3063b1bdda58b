/**
 * @import { EXPERIMENTS } from './experiments.js'
 * @import { MEASURES } from './measures.js'
 */

/**
 * What the playbook says, as data: a sentence, the experiment that shows it, and what has to come of it. `expect` is what
 * the second cell does to the measure, and `least_ratio` the smallest effect of interest: less than that would not be worth
 * a change. For `same`, as much more or less is still the same.
 *
 * @typedef {object} Claim
 * @property {string} id
 * @property {string} sentence
 * @property {keyof typeof EXPERIMENTS} experiment
 * @property {keyof typeof MEASURES} measure
 * @property {'more' | 'less' | 'same'} expect
 * @property {number} least_ratio above 1
 */

/** @type {Claim[]} */
export const CLAIMS = [
  of('soft-nofile-does-nothing', 'A lower soft limit of open files does nothing: Node raises it to the hard one.', {
    experiment: 'soft-limit',
    measure: 'success',
    expect: 'same',
    least_ratio: 1.01,
  }),
  of('hard-nofile-below-the-peak', 'A hard limit below the peak of open sockets turns connections away.', {
    experiment: 'hard-limit-below',
    measure: 'success',
    expect: 'less',
    least_ratio: 1.1,
  }),
  of(
    'hard-nofile-above-the-peak',
    'Above the peak of open sockets, the limit changes nothing: 700 is as good as 2000.',
    {
      experiment: 'hard-limit-above',
      measure: 'goodput',
      expect: 'same',
      least_ratio: 1.25,
    },
  ),
  of('timeout-adds-no-capacity', 'A longer connect timeout adds no capacity.', {
    experiment: 'connect-timeout',
    measure: 'goodput',
    expect: 'same',
    least_ratio: 1.25,
  }),
  of('timeout-turns-errors-into-success', 'A longer connect timeout lifts the success ratio of an overload …', {
    experiment: 'connect-timeout',
    measure: 'success',
    expect: 'more',
    least_ratio: 1.1,
  }),
  of('timeout-turns-errors-into-waiting', '… and pays for it with latency.', {
    experiment: 'connect-timeout',
    measure: 'ok_p99',
    expect: 'more',
    least_ratio: 2,
  }),
  of(
    'pool-follows-littles-law-5-ms',
    'With the database 5 ms away, twice the pool is twice the rate: 8 connections against 4.',
    {
      experiment: 'pool-far',
      measure: 'goodput',
      expect: 'more',
      least_ratio: 1.6,
    },
  ),
  of('pool-follows-littles-law-1-ms', 'With the database 1 ms away, twice the pool is still clearly more.', {
    experiment: 'pool-near',
    measure: 'goodput',
    expect: 'more',
    least_ratio: 1.2,
  }),
  of('pool-is-enough-nearby', 'With the database on the same machine, 4 connections are enough: 8 bring nothing.', {
    experiment: 'pool-here',
    measure: 'goodput',
    expect: 'same',
    least_ratio: 1.25,
  }),
  of('pool-20-is-40', 'A pool of 40 is no better than one of 20.', {
    experiment: 'pool-large',
    measure: 'goodput',
    expect: 'same',
    least_ratio: 1.25,
  }),
  of(
    'pool-is-idle-when-batched',
    'Where requests share statements, the pool does not matter: 5 connections are as good as 20.',
    {
      experiment: 'pool-batched',
      measure: 'goodput',
      expect: 'same',
      least_ratio: 1.25,
    },
  ),
  of('prepared-costs-less', 'A prepared statement costs the API less CPU than an unnamed one.', {
    experiment: 'prepared',
    measure: 'cpu',
    expect: 'less',
    least_ratio: 1.05,
  }),
  of('batched-takes-more', 'Requests that share statements: at least twice the durable rows per second.', {
    experiment: 'batched',
    measure: 'goodput',
    expect: 'more',
    least_ratio: 2,
  }),
  of('batched-costs-less', 'And at most half the CPU of the API for each.', {
    experiment: 'batched',
    measure: 'cpu',
    expect: 'less',
    least_ratio: 2,
  }),
  of('one-slot-is-enough', 'One shared statement on its way at a time is as good as four.', {
    experiment: 'one-slot',
    measure: 'goodput',
    expect: 'same',
    least_ratio: 1.25,
  }),
  of(
    'asynchronous-commit-single',
    'One statement per row, and commits that do not wait for the disk: clearly more per second.',
    {
      experiment: 'commit-single',
      measure: 'goodput',
      expect: 'more',
      least_ratio: 1.1,
    },
  ),
  of('asynchronous-commit-batched', 'Where rows share commits, waiting for the disk costs nothing that matters.', {
    experiment: 'commit-batched',
    measure: 'goodput',
    expect: 'same',
    least_ratio: 1.25,
  }),
  of('semi-space-saves-cpu', 'A young generation of 64 MiB instead of 16 saves CPU.', {
    experiment: 'semi-space',
    measure: 'cpu',
    expect: 'less',
    least_ratio: 1.03,
  }),
  of('node-24-is-node-20', 'Node 24 costs what Node 20 costs.', {
    experiment: 'node-24',
    measure: 'cpu',
    expect: 'same',
    least_ratio: 1.15,
  }),
  of('node-26-costs-less', 'Node 26 costs less CPU per request than Node 20.', {
    experiment: 'node-26',
    measure: 'cpu',
    expect: 'less',
    least_ratio: 1.05,
  }),
  of('a-log-line-costs', 'A log line per request is paid with CPU.', {
    experiment: 'log-line',
    measure: 'cpu',
    expect: 'more',
    least_ratio: 1.05,
  }),
  of('a-connection-costs', 'A new connection per request is paid with CPU.', {
    experiment: 'fresh-connections',
    measure: 'cpu',
    expect: 'more',
    least_ratio: 1.2,
  }),
  of('scrypt-is-the-limit', 'Passwords hashed by scrypt: less than a tenth of the requests.', {
    experiment: 'scrypt',
    measure: 'goodput',
    expect: 'less',
    least_ratio: 10,
  }),
  of('a-short-backlog-delays', 'A short accept queue makes bursts of new connections wait for their second try.', {
    experiment: 'backlog',
    measure: 'p99',
    expect: 'more',
    least_ratio: 2,
  }),
  of('shedding-keeps-goodput', 'At twice the capacity, refusing what would wait too long loses no goodput …', {
    experiment: 'shedding',
    measure: 'goodput',
    expect: 'same',
    least_ratio: 1.25,
  }),
  of('shedding-keeps-latency', '… and what is accepted is answered in time.', {
    experiment: 'shedding',
    measure: 'ok_p99',
    expect: 'less',
    least_ratio: 3,
  }),
  of(
    'generators-defaults-collapse',
    "vegeta's own defaults get less through than the same vegeta with bounded connections.",
    {
      experiment: 'generator-defaults',
      measure: 'goodput',
      expect: 'less',
      least_ratio: 1.5,
    },
  ),
]

/** The chapters of tuning/PLAYBOOK.md, by what somebody sees, with the claims in each. @type {Record<string, string[]>} */
export const CHAPTERS = {
  'slow-but-successful': [
    'timeout-adds-no-capacity',
    'timeout-turns-errors-into-success',
    'timeout-turns-errors-into-waiting',
  ],
  'pool-waits': [
    'pool-follows-littles-law-5-ms',
    'pool-follows-littles-law-1-ms',
    'pool-is-enough-nearby',
    'pool-20-is-40',
    'pool-is-idle-when-batched',
  ],
  'core-full': [
    'batched-takes-more',
    'batched-costs-less',
    'prepared-costs-less',
    'one-slot-is-enough',
    'semi-space-saves-cpu',
    'node-24-is-node-20',
    'node-26-costs-less',
    'a-log-line-costs',
    'a-connection-costs',
  ],
  'loop-blocked': ['scrypt-is-the-limit'],
  'commits-wait': ['asynchronous-commit-single', 'asynchronous-commit-batched'],
  'files-run-out': ['soft-nofile-does-nothing', 'hard-nofile-below-the-peak', 'hard-nofile-above-the-peak'],
  'connections-wait': ['a-short-backlog-delays'],
  'more-than-it-takes': ['shedding-keeps-goodput', 'shedding-keeps-latency'],
  'code-0': ['generators-defaults-collapse'],
}

/** @param {string} id @param {string} sentence @param {Omit<Claim, 'id' | 'sentence'>} rest @returns {Claim} */
function of(id, sentence, rest) {
  return { id, sentence, ...rest }
}
