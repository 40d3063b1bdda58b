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
 * first. `least_ratio` is the smallest effect that would be worth a change.
 * @typedef {Expectation & { id: string, chapter: string, sentence: string, experiment: string, cell: number,
 *   measure: keyof typeof MEASURES }} Claim
 * @typedef {[experiment: string, measure: Claim['measure'], expect: Claim['expect'], least_ratio: number, cell?: number]} ClaimTest cell: by
 *   default, the second (1)
 */

/** The playbook's claims in its own words, by chapter (a symptom) of tuning/PLAYBOOK.md. @type {Record<string, Record<string, string>>} */
const CHAPTERS = {
  'slow-but-successful': {
    'timeout-adds-no-capacity': 'A longer connect timeout adds no capacity.',
    'timeout-turns-errors-into-success': 'A longer connect timeout lifts the success ratio of an overload …',
    'timeout-turns-errors-into-waiting': '… and pays for it with latency.',
  },
  'pool-waits': {
    'pool-follows-littles-law-5-ms':
      'With the database 5 ms away, twice the pool is nearly twice the rate: 8 connections against 4.',
    'pool-follows-littles-law-1-ms': 'With the database 1 ms away, twice the pool still gives a clearly higher rate.',
    'pool-of-8-nearby': 'With the database on the same machine, 8 connections still give more goodput than 4.',
    'pool-20-is-40': 'A pool of 40 gives little more goodput than one of 20.',
    'pool-is-idle-when-batched':
      'Where one statement inserts the rows of many requests, the size of the pool does not matter: 5 connections are as good as 20.',
  },
  'core-full': {
    'batched-takes-more': 'Where requests share statements, the API stores at least twice the rows per second.',
    'batched-costs-less': 'Where requests share statements, a row costs the API at most half the CPU.',
    'prepared-costs-less': 'A prepared statement costs the API a little less CPU than an unnamed one.',
    'one-slot-is-enough':
      'At full load, BATCH_SLOTS does not matter: 1 is as good as 4 (it limits only statements of one row).',
    'semi-space-saves-nothing':
      'Below the capacity, semi-spaces (halves of the young generation) of 64 MiB instead of 16 do not change the CPU per request.',
    'node-24-costs-less': 'Node 24 costs less CPU per request than Node 20 …',
    'node-26-costs-less': '… and so does Node 26.',
    'a-log-line-costs': 'A log line per request costs CPU.',
    'a-connection-costs': 'A new connection per request costs CPU.',
  },
  'loop-blocked': {
    'scrypt-is-the-limit': 'Hashing passwords with scrypt leaves less than a tenth of the goodput.',
  },
  'commits-wait': {
    'asynchronous-commit-single':
      'With one statement per row, commits that do not wait for the disk give clearly more rows per second.',
    'asynchronous-commit-batched': 'Where rows share commits, commits that do not wait still gain something.',
  },
  'files-run-out': {
    'soft-nofile-does-nothing': 'A lower soft limit of open files does nothing: Node raises it to the hard one.',
    'hard-nofile-above-the-peak': 'Above the peak of open sockets, the limit changes nothing: 700 is as good as 2000.',
  },
  'connections-wait': {
    'a-short-backlog-delays': 'A short accept queue makes bursts of new connections wait for their second try.',
  },
  'more-than-it-takes': {
    'shedding-keeps-goodput': 'At twice the capacity, refusing what would wait too long loses no goodput …',
    'shedding-keeps-latency': '… and what is accepted is answered in time.',
  },
  'code-0': {
    'generators-defaults-collapse':
      'With its default, unbounded connections, vegeta achieves less goodput than with bounded ones.',
  },
}

/** The test of each claim. @type {Record<string, ClaimTest>} */
const TESTS = {
  'timeout-adds-no-capacity': ['connect-timeout', 'goodput', 'same', 1.25],
  'timeout-turns-errors-into-success': ['connect-timeout', 'success', 'more', 1.1],
  'timeout-turns-errors-into-waiting': ['connect-timeout', 'ok_p99', 'more', 2],
  'pool-follows-littles-law-5-ms': ['pool-far', 'goodput', 'more', 1.6],
  'pool-follows-littles-law-1-ms': ['pool-near', 'goodput', 'more', 1.2],
  'pool-of-8-nearby': ['pool-here', 'goodput', 'more', 1.05],
  'pool-20-is-40': ['pool-large', 'goodput', 'same', 1.25],
  'pool-is-idle-when-batched': ['pool-batched', 'goodput', 'same', 1.25],
  'batched-takes-more': ['batched', 'goodput', 'more', 2],
  'batched-costs-less': ['batched', 'cpu', 'less', 2],
  'prepared-costs-less': ['prepared', 'cpu', 'less', 1.05],
  'one-slot-is-enough': ['one-slot', 'goodput', 'same', 1.25],
  'semi-space-saves-nothing': ['semi-space', 'cpu', 'same', 1.1],
  'node-24-costs-less': ['node', 'cpu', 'less', 1.05],
  'node-26-costs-less': ['node', 'cpu', 'less', 1.05, 2],
  'a-log-line-costs': ['log-line', 'cpu', 'more', 1.05],
  'a-connection-costs': ['fresh-connections', 'cpu', 'more', 1.2],
  'scrypt-is-the-limit': ['scrypt', 'goodput', 'less', 10],
  'asynchronous-commit-single': ['commit-single', 'goodput', 'more', 1.1],
  'asynchronous-commit-batched': ['commit-batched', 'goodput', 'more', 1.05],
  'soft-nofile-does-nothing': ['soft-limit', 'success', 'same', 1.01],
  'hard-nofile-above-the-peak': ['hard-limit-above', 'goodput', 'same', 1.25],
  'a-short-backlog-delays': ['backlog', 'p99', 'more', 2],
  'shedding-keeps-goodput': ['shedding', 'goodput', 'same', 1.25],
  'shedding-keeps-latency': ['shedding', 'ok_p99', 'less', 3],
  'generators-defaults-collapse': ['generator-defaults', 'goodput', 'less', 1.5],
}

/** @type {Claim[]} */
export const CLAIMS = Object.entries(CHAPTERS).flatMap(([chapter, sentences]) =>
  Object.entries(sentences).map(([id, sentence]) => {
    const [experiment, measure, expect, least_ratio, cell = 1] = TESTS[id]
    return { id, chapter, sentence, experiment, cell, measure, expect, least_ratio }
  }),
)
