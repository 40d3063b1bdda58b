import { count, milliseconds, percent } from '../../load/report/table.js'
import { ratioOf, ratioText } from '../effects.js'
import { verdictOf } from '../playbook/verdict.js'
import { median } from '../ranks.js'
import { GENERATORS, trialsOf } from './steps.js'

/** The p99 up to which a rate counts as one that the service takes. */
const SLO_P99_MS = 100

/** Rows of the published table, from 0. */
const TIMEOUT_2_S = 2
const TIMEOUT_30_S = 3
const NOFILE_2000 = 4
const NOFILE_700 = 5
const POOL_20 = 6
const CLAIMED_CAPACITY = 7
const OVERLOADS = [TIMEOUT_2_S, TIMEOUT_30_S, NOFILE_2000, NOFILE_700, POOL_20]

/**
 * What the article concludes, tested on the trials of this run. Pure.
 *
 * @param {Records} records
 * @returns {Conclusion[]}
 *
 * @typedef {import('./steps.js').Records} Records
 * @typedef {import('./steps.js').Generator} Generator
 *
 * @typedef {object} Conclusion
 * @property {string} published
 * @property {'reproduced' | 'refuted' | 'undecided' | 'not measured'} verdict
 * @property {string[]} evidence
 */
export function conclusionsOf(records) {
  return [
    capacity(records),
    timeoutLifts(records),
    timeoutAdds(records),
    moreFiles(records),
    fewerFiles(records),
    poolSize(records),
    codeZero(records),
  ]
}

/** @param {Records} records @returns {Conclusion} */
function capacity(records) {
  const trials = trialsOf(records, CLAIMED_CAPACITY, 'paced')
  const p99s_ms = trials.map(({ traffic }) => traffic.latency_ms?.p99 ?? Number.POSITIVE_INFINITY)
  const success = trials.map(({ traffic }) => traffic.success_ratio)
  const holds = p99s_ms.map((p99_ms, i) => p99_ms <= SLO_P99_MS && success[i] === 1)
  const verdict =
    holds.length === 0
      ? 'not measured'
      : holds.every(Boolean)
        ? 'reproduced'
        : holds.some(Boolean)
          ? 'undecided'
          : 'refuted'
  const spread = `${milliseconds(Math.min(...p99s_ms))} to ${milliseconds(Math.max(...p99s_ms))}`
  return {
    published: '2,600/s is what one core takes, with a pool of 20',
    verdict,
    evidence:
      trials.length === 0
        ? []
        : [
            `at the same share of the peak, by a bounded generator: success ${percent(median(success))}, p99 ${spread} in ${trials.length} trials; a rate whose p99 exceeds ${SLO_P99_MS} ms is not one that the service takes`,
          ],
  }
}

/** @param {Records} records @returns {Conclusion} */
function timeoutLifts(records) {
  const effect = compare(records, successOf, TIMEOUT_2_S, TIMEOUT_30_S, 'vegeta-unbounded')
  return {
    published: 'A longer connect timeout (30 s instead of 2) lifts success',
    verdict: verdictOf({ expect: 'more', least_ratio: 1.05 }, effect),
    evidence: [`success ratio, ${ratioText(effect)}, by the generator with its defaults`],
  }
}

/** @param {Records} records @returns {Conclusion} */
function timeoutAdds(records) {
  const effect = compare(records, goodputOf, TIMEOUT_2_S, TIMEOUT_30_S, 'paced')
  return {
    published: 'And with it the rate that is served',
    verdict: verdictOf({ expect: 'more', least_ratio: 1.1 }, effect),
    evidence: [`goodput, ${ratioText(effect)}, by a bounded generator`],
  }
}

/** @param {Records} records @returns {Conclusion} */
function moreFiles(records) {
  return files(records, 'More open files (2000 instead of 1024) make it worse, by context switching', NOFILE_2000)
}

/** @param {Records} records @returns {Conclusion} */
function fewerFiles(records) {
  return files(records, 'And so do fewer (700 instead of 1024)', NOFILE_700)
}

/** @param {Records} records @param {string} published @param {number} row @returns {Conclusion} */
function files(records, published, row) {
  const [own, bounded] = GENERATORS.map((generator) => {
    return compare(records, successOf, TIMEOUT_30_S, row, generator)
  })
  return {
    published,
    verdict: verdictOf({ expect: 'less', least_ratio: 1.1 }, own),
    evidence: [
      `success ratio, ${ratioText(own)} by the generator with its defaults`,
      `${ratioText(bounded)} by a bounded one`,
    ],
  }
}

/** @param {Records} records @returns {Conclusion} */
function poolSize(records) {
  const effect = compare(records, goodputOf, TIMEOUT_30_S, POOL_20, 'paced')
  return {
    published: 'A pool of 20 behaves differently from one of 40',
    verdict: opposite(verdictOf({ expect: 'same', least_ratio: 1.1 }, effect)),
    evidence: [`goodput, ${ratioText(effect)}, by a bounded generator`],
  }
}

/** @param {Records} records @returns {Conclusion} */
function codeZero(records) {
  const published = 'Code 0 means that the server reset the connection'
  const [own, bounded] = GENERATORS.map((generator) => lostOf(records, generator))
  if (own.trials === 0) return { published, verdict: 'not measured', evidence: [] }
  const share = own.server / own.all
  const verdict = own.all === 0 ? 'undecided' : share < 0.5 ? 'refuted' : share > 0.9 ? 'reproduced' : 'undecided'
  const evidence = [
    `by the generator with its defaults, ${count(own.all)} requests ended without an answer: ${own.text || 'none'}; the server closes what exceeds its open files, and resets next to none`,
    `by one whose connections are bounded, ${count(bounded.all)}${bounded.text ? `: ${bounded.text}` : ''}`,
  ]
  return { published, verdict, evidence }
}

/** Requests that ended without an answer in the overloads. @param {Records} records @param {Generator} generator */
function lostOf(records, generator) {
  const trials = OVERLOADS.flatMap((row) => trialsOf(records, row, generator))
  /** @type {Record<string, number>} */
  const totals = {}
  for (const { traffic } of trials) {
    for (const [key, number] of Object.entries(traffic.errors)) totals[key] = (totals[key] ?? 0) + number
  }
  const sorted = Object.entries(totals).sort(([, a], [, b]) => b - a)
  const sum = (/** @type {[string, number][]} */ entries) => entries.reduce((total, [, number]) => total + number, 0)
  return {
    all: sum(sorted),
    server: sum(sorted.filter(([key]) => key.startsWith('server:'))),
    text: sorted.map(([key, number]) => `${count(number)} × ${key}`).join(', '),
    trials: trials.length,
  }
}

/**
 * @param {Records} records
 * @param {(record: Records[number]) => number} value
 * @param {number} reference row
 * @param {number} other row
 * @param {Generator} generator
 */
function compare(records, value, reference, other, generator) {
  const observations = [reference, other].flatMap((row) =>
    trialsOf(records, row, generator).map((record) => ({
      block: Number(record.experiment.split('/')[1]),
      cell: String(row),
      levels: {},
      value: value(record),
    })),
  )
  return ratioOf(observations, String(other), String(reference), { ratio: 1, deviation: 0, pairs: 0 })
}

/** Nothing at all has no logarithm. @param {Records[number]} record */
function successOf({ traffic }) {
  return Math.max(1e-4, traffic.success_ratio)
}

/** @param {Records[number]} record */
function goodputOf({ traffic }) {
  return Math.max(1, traffic.goodput_rps)
}

/** @param {Conclusion['verdict']} verdict @returns {Conclusion['verdict']} */
function opposite(verdict) {
  return verdict === 'reproduced' ? 'refuted' : verdict === 'refuted' ? 'reproduced' : verdict
}
