import { goodputOf, successOf } from '../../stats/measures.js'

/**
 * @import { Claim as Expectation } from '../../stats/effects.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/** @typedef {{ title: string, decimals: number, value: (record: TrialRecord) => number | undefined }} Measure title: with its unit */

/** Measures that claims are about. @satisfies {Record<string, Measure>} */
export const MEASURES = {
  goodput: { title: 'goodput, /s', decimals: 0, value: goodputOf },
  success: { title: 'success, %', decimals: 2, value: (record) => 100 * successOf(record) },
  cpu: { title: 'CPU per request, us', decimals: 1, value: ({ probes }) => probes.api.cpu_us_per_request },
  p99: { title: 'p99, ms', decimals: 1, value: ({ traffic }) => traffic.latency_ms?.p99 },
  ok_p99: { title: 'p99 of the successes, ms', decimals: 1, value: ({ traffic }) => traffic.ok_latency_ms?.p99 },
}

/**
 * A claim of the playbook, as data: a sentence, the experiment that tests it, and the effect on the measure of a cell other than the
 * first (by default, the second). `least_ratio` is the smallest effect that would be worth a change.
 * @typedef {Expectation & { experiment: string, cell?: number, measure: keyof typeof MEASURES }} ClaimTest
 * @typedef {{ id: string, chapter: string, sentence: string } & ClaimTest} Claim
 */

/**
 * The chapters of tuning/PLAYBOOK.md, by symptom, with their claims.
 * @type {Record<string, Record<string, { sentence: string, test: ClaimTest }>>}
 */
const CHAPTERS = {
  'slow-but-successful': {
    'timeout-adds-no-capacity': {
      sentence: 'A longer connect timeout adds no capacity.',
      test: { experiment: 'connect-timeout', measure: 'goodput', expect: 'same', least_ratio: 1.25 },
    },
    'timeout-turns-errors-into-success': {
      sentence: 'A longer connect timeout lifts the success ratio of an overload …',
      test: { experiment: 'connect-timeout', measure: 'success', expect: 'more', least_ratio: 1.1 },
    },
    'timeout-turns-errors-into-waiting': {
      sentence: '… and pays for it with latency.',
      test: { experiment: 'connect-timeout', measure: 'ok_p99', expect: 'more', least_ratio: 2 },
    },
  },
  'pool-waits': {
    'pool-follows-littles-law-5-ms': {
      sentence: 'With the database 5 ms away, twice the pool is nearly twice the rate: 8 connections against 4.',
      test: { experiment: 'pool-far', measure: 'goodput', expect: 'more', least_ratio: 1.6 },
    },
    'pool-follows-littles-law-1-ms': {
      sentence: 'With the database 1 ms away, twice the pool still gives a clearly higher rate.',
      test: { experiment: 'pool-near', measure: 'goodput', expect: 'more', least_ratio: 1.2 },
    },
    'pool-of-8-nearby': {
      sentence: 'With the database on the same machine, 8 connections still give more goodput than 4.',
      test: { experiment: 'pool-here', measure: 'goodput', expect: 'more', least_ratio: 1.05 },
    },
    'pool-20-is-40': {
      sentence: 'A pool of 40 gives little more goodput than one of 20.',
      test: { experiment: 'pool-large', measure: 'goodput', expect: 'same', least_ratio: 1.25 },
    },
    'pool-is-idle-when-batched': {
      sentence:
        'Where one statement inserts the rows of many requests, the size of the pool does not matter: 5 connections are as good as 20.',
      test: { experiment: 'pool-batched', measure: 'goodput', expect: 'same', least_ratio: 1.25 },
    },
  },
  'core-full': {
    'batched-takes-more': {
      sentence: 'Where requests share statements, the API stores at least twice the rows per second.',
      test: { experiment: 'batched', measure: 'goodput', expect: 'more', least_ratio: 2 },
    },
    'batched-costs-less': {
      sentence: 'Where requests share statements, a row costs the API at most half the CPU.',
      test: { experiment: 'batched', measure: 'cpu', expect: 'less', least_ratio: 2 },
    },
    'prepared-costs-less': {
      sentence: 'A prepared statement costs the API a little less CPU than an unnamed one.',
      test: { experiment: 'prepared', measure: 'cpu', expect: 'less', least_ratio: 1.05 },
    },
    'one-slot-is-enough': {
      sentence: 'At full load, BATCH_SLOTS does not matter: 1 is as good as 4 (it limits only statements of one row).',
      test: { experiment: 'one-slot', measure: 'goodput', expect: 'same', least_ratio: 1.25 },
    },
    'semi-space-saves-nothing': {
      sentence:
        'Below the capacity, semi-spaces (halves of the young generation) of 64 MiB instead of 16 do not change the CPU per request.',
      test: { experiment: 'semi-space', measure: 'cpu', expect: 'same', least_ratio: 1.1 },
    },
    'node-24-costs-less': {
      sentence: 'Node 24 costs less CPU per request than Node 20 …',
      test: { experiment: 'node', measure: 'cpu', expect: 'less', least_ratio: 1.05 },
    },
    'node-26-costs-less': {
      sentence: '… and so does Node 26.',
      test: { experiment: 'node', cell: 2, measure: 'cpu', expect: 'less', least_ratio: 1.05 },
    },
    'a-log-line-costs': {
      sentence: 'A log line per request costs CPU.',
      test: { experiment: 'log-line', measure: 'cpu', expect: 'more', least_ratio: 1.05 },
    },
    'a-connection-costs': {
      sentence: 'A new connection per request costs CPU.',
      test: { experiment: 'fresh-connections', measure: 'cpu', expect: 'more', least_ratio: 1.2 },
    },
  },
  'loop-blocked': {
    'scrypt-is-the-limit': {
      sentence: 'Hashing passwords with scrypt leaves less than a tenth of the goodput.',
      test: { experiment: 'scrypt', measure: 'goodput', expect: 'less', least_ratio: 10 },
    },
  },
  'commits-wait': {
    'asynchronous-commit-single': {
      sentence: 'With one statement per row, commits that do not wait for the disk give clearly more rows per second.',
      test: { experiment: 'commit-single', measure: 'goodput', expect: 'more', least_ratio: 1.1 },
    },
    'asynchronous-commit-batched': {
      sentence: 'Where rows share commits, commits that do not wait still gain something.',
      test: { experiment: 'commit-batched', measure: 'goodput', expect: 'more', least_ratio: 1.05 },
    },
  },
  'files-run-out': {
    'soft-nofile-does-nothing': {
      sentence: 'A lower soft limit of open files does nothing: Node raises it to the hard one.',
      test: { experiment: 'soft-limit', measure: 'success', expect: 'same', least_ratio: 1.01 },
    },
    'hard-nofile-above-the-peak': {
      sentence: 'Above the peak of open sockets, the limit changes nothing: 700 is as good as 2000.',
      test: { experiment: 'hard-limit-above', measure: 'goodput', expect: 'same', least_ratio: 1.25 },
    },
  },
  'connections-wait': {
    'a-short-backlog-delays': {
      sentence: 'A short accept queue makes bursts of new connections wait for their second try.',
      test: { experiment: 'backlog', measure: 'p99', expect: 'more', least_ratio: 2 },
    },
  },
  'more-than-it-takes': {
    'shedding-keeps-goodput': {
      sentence: 'At twice the capacity, refusing what would wait too long loses no goodput …',
      test: { experiment: 'shedding', measure: 'goodput', expect: 'same', least_ratio: 1.25 },
    },
    'shedding-keeps-latency': {
      sentence: '… and what is accepted is answered in time.',
      test: { experiment: 'shedding', measure: 'ok_p99', expect: 'less', least_ratio: 3 },
    },
  },
  'code-0': {
    'generators-defaults-collapse': {
      sentence: 'With its default, unbounded connections, vegeta achieves less goodput than with bounded ones.',
      test: { experiment: 'generator-defaults', measure: 'goodput', expect: 'less', least_ratio: 1.5 },
    },
  },
}

/** @type {Claim[]} */
export const CLAIMS = Object.entries(CHAPTERS).flatMap(([chapter, claims]) =>
  Object.entries(claims).map(([id, { sentence, test }]) => ({ id, chapter, sentence, ...test })),
)
