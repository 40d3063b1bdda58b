import { count, milliseconds, percent } from '../../../load/report/format.js'
import { ratioOf, ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { verdictOf } from '../playbook/verdict.js'
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

/** What a statement is taken from. */
const ARTICLE = 'the article'
const TABLE = 'its table'

/**
 * What the article concludes, and what its table suggests beside that, tested on the trials of this run. Pure.
 *
 * @param {Records} records
 * @returns {Conclusion[]}
 *
 * @typedef {import('./steps.js').Records} Records
 * @typedef {import('./steps.js').Generator} Generator
 *
 * @typedef {object} Conclusion
 * @property {string} published
 * @property {string} by who says so: the article in its words, or its table by its figures
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
    by: ARTICLE,
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
  const refused = [TIMEOUT_2_S, TIMEOUT_30_S].map((row) => refusedBy(records, row, 'paced'))
  return {
    published: 'A longer connect timeout (30 s instead of 2) lifts success',
    by: ARTICLE,
    verdict: verdictOf({ expect: 'more', least_ratio: 1.05 }, effect),
    evidence: [
      `success ratio, ${ratioText(effect)}, by the generator with its defaults`,
      `answers that are no success, by a bounded one: ${refused.map(count).join(' and ')}${refused.every((number) => number === 0) ? ', so that neither timeout is reached' : ''}`,
    ],
  }
}

/** @param {Records} records @returns {Conclusion} */
function timeoutAdds(records) {
  const effect = compare(records, goodputOf, TIMEOUT_2_S, TIMEOUT_30_S, 'paced')
  return {
    published: 'With the longer timeout more than twice as many are served (rows 3 and 4)',
    by: TABLE,
    verdict: verdictOf({ expect: 'more', least_ratio: 1.1 }, effect),
    evidence: [`goodput, ${ratioText(effect)}, by a bounded generator`],
  }
}

/** @param {Records} records @returns {Conclusion} */
function moreFiles(records) {
  const published = 'More open files (2000 instead of 1024) make it worse, by context switching'
  return { published, by: ARTICLE, ...files(records, NOFILE_2000) }
}

/** @param {Records} records @returns {Conclusion} */
function fewerFiles(records) {
  return { published: 'Fewer (700) make it worse, too (rows 4 and 6)', by: TABLE, ...files(records, NOFILE_700) }
}

/** @param {Records} records @param {number} row @returns {Pick<Conclusion, 'verdict' | 'evidence'>} */
function files(records, row) {
  const [own, bounded] = GENERATORS.map((generator) => {
    return compare(records, successOf, TIMEOUT_30_S, row, generator)
  })
  return {
    verdict: verdictOf({ expect: 'less', least_ratio: 1.1 }, own),
    evidence: [
      `success ratio, ${ratioText(own)} by the generator with its defaults`,
      `${ratioText(bounded)} by a bounded one`,
    ],
  }
}

/** @param {Records} records @returns {Conclusion} */
function poolSize(records) {
  const own = compare(records, successOf, TIMEOUT_30_S, POOL_20, 'vegeta-unbounded')
  const bounded = compare(records, goodputOf, TIMEOUT_30_S, POOL_20, 'paced')
  return {
    published: 'At 3,000/s a pool of 20 does worse than one of 40 (rows 4 and 7)',
    by: TABLE,
    verdict: verdictOf({ expect: 'less', least_ratio: 1.05 }, own),
    evidence: [
      `success ratio, ${ratioText(own)} by the generator with its defaults`,
      `goodput, ${ratioText(bounded)} by a bounded one`,
    ],
  }
}

/** @param {Records} records @returns {Conclusion} */
function codeZero(records) {
  const published = 'Code 0 means that the server reset the connection'
  const [own, bounded] = GENERATORS.map((generator) => lostOf(records, generator))
  if (own.trials === 0) return { published, by: ARTICLE, verdict: 'not measured', evidence: [] }
  const share = own.server / own.all
  const verdict = own.all === 0 ? 'undecided' : share < 0.5 ? 'refuted' : share > 0.9 ? 'reproduced' : 'undecided'
  const evidence = [
    own.all === 0
      ? 'by the generator with its defaults, no request ended without an answer'
      : `by the generator with its defaults, ${count(own.all)} requests ended without an answer: ${own.text}; the server ended ${percent(share)} of them, ${percent(own.reset / own.all)} by a reset`,
    `by one whose connections are bounded, ${count(bounded.all)}${bounded.text ? `: ${bounded.text}` : ''}`,
  ]
  return { published, by: ARTICLE, verdict, evidence }
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
    reset: totals['server:reset'] ?? 0,
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

/** Answers that say that the service could not. @param {Records} records @param {number} row @param {Generator} generator */
function refusedBy(records, row, generator) {
  return trialsOf(records, row, generator).reduce((sum, { traffic }) => {
    return sum + traffic.completed - traffic.ok
  }, 0)
}
