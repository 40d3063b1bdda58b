import t from 'tap'
import { answerSentence } from '../../../../../tuning/experiments/compare/differences.js'
import { findingsOf, runOf, textOf } from '../../../../support/made-up/compare.js'

/** @import { Difference } from '../../../../../tuning/experiments/compare/differences.js' */

/** @param {any[]} records @returns {Difference[]} */
const differencesOf = (records) => findingsOf(records).differences

t.test('two equals are tied in 19 of 20 runs', async (t) => {
  const runs = 20
  const tied = Array.from({ length: runs }, (_, seed) => differencesOf(runOf({ seed }))).filter((differences) => {
    return differences.every((difference) => difference.tied)
  })
  t.ok(tied.length / runs >= 0.9, `${tied.length} of ${runs} are tied`)
  t.match(
    answerSentence(differencesOf(runOf({ seed: 3 }))),
    /^No difference between A and B is clear\. Tied: p50 at concurrency 1, /,
  )
})

t.test('a side that is slower by 10 % is found', async (t) => {
  const found = Array.from({ length: 10 }, (_, seed) => differencesOf(runOf({ b: 1.1, noise: 0.03, seed })))
  const right = found.filter((differences) =>
    differences.some(({ tied, ratio, better }) => !tied && ratio > 1 === (better === 'less')),
  )
  t.ok(right.length >= 9, `${right.length} of 10`)
  t.match(answerSentence(found[0]), /B is worse than A in p50 at concurrency 1: 1\.\d\dx \[/)
  t.match(
    answerSentence(differencesOf([])),
    /^Nothing could be compared\. Not compared: p50 at concurrency 1 \(too few blocks\), /,
  )
})

t.test('nor are they speed: who refuses is not compared by the latency of what is left', async (t) => {
  const differences = differencesOf(runOf({ limit_rps: 40, limited: 'b', noise: 0.01 }))
  t.strictSame(
    differences.map(({ about, because, pairs }) => [about, because, pairs]),
    [
      ['p50 at concurrency 1', 'B refused requests', 0],
      ['p50 at concurrency 10', 'B refused requests', 0],
      ['p50 at concurrency 100', 'B refused requests', 0],
      ['maximum rate', '', 10],
    ],
  )
  const sentence = answerSentence(differences)
  t.match(sentence, /Not compared: p50 at concurrency 1 \(B refused requests\), p50 at concurrency 10/)
  t.notMatch(sentence, /better/)
})

t.test('a maximum of the generator, or of the ladder, is no maximum of a service', async (t) => {
  const full = (/** @type {any} */ { cell, at }) => (cell.side === 'b' && at.phase === 'maximum' ? 0.95 : 0.2)
  const records = runOf({ generator: full })
  const [a, b] = findingsOf(records).sides
  t.equal(a.bound, null)
  t.equal(b.bound.because, 'the generator ran, or waited for its core, nearly all the time')
  const differences = differencesOf(records)
  t.match(differences[3], { about: 'maximum rate', pairs: 0 })
  t.equal(differences[3].because, 'B: the generator ran, or waited for its core, nearly all the time')
  t.match(
    answerSentence(differences),
    /Not compared: maximum rate \(B: the generator ran, or waited for its core, nearly all the time\)/,
  )
  t.match(
    textOf(records),
    /\n- B: at least [12],\d{3}\/s: the generator ran, or waited for its core, nearly all the time\.\n/,
  )

  const plan = { per_worker_rps: 0.5 }
  const slow = runOf({ plan, noise: 0 })
  t.match(findingsOf(slow, plan).sides[0].maxima[0], { rps: 1280, workers: 2560, rising: true })
  t.match(textOf(slow, plan), /A: at least 1,280\/s: the last rung, 2,560 workers, still raised the throughput/)
  t.match(answerSentence(differencesOf(slow)), /Not compared: maximum rate \(A: the last rung/)
})

t.test('two that are alike by the generator alone are not tied', async (t) => {
  const full = (/** @type {any} */ { load }) => (load.connections === 100 ? 1 : 0.2)
  const [, , equal] = differencesOf(runOf({ generator: full }))
  t.equal(equal.about, 'p50 at concurrency 100')
  t.equal(equal.because, 'the generator ran, or waited for its core, nearly all the time for A and B')
  t.ok(Number.isNaN(equal.ratio), 'nor is their ratio shown')
  const [, , slower] = differencesOf(runOf({ generator: full, b: 2 }))
  t.equal(slower.tied, false, 'what differs all the same does')
  t.equal(slower.because, '')
})

t.test('a run in which nothing could be compared has no trustworthy answer, and says why', async (t) => {
  const findings = findingsOf(runOf({ plan: { blocks: 2 } }), { blocks: 2 })
  t.match(findings.kept.conclusion, /^Nothing could be compared\. /)
  t.equal(findings.problem, 'nothing could be compared: too few blocks')
  const full = (/** @type {any} */ { at }) => (at.phase === 'maximum' ? 1 : 0.2)
  t.equal(findingsOf(runOf({ generator: full })).problem, null, 'one comparison is an answer')
})

t.test('what could not be compared has no interval, and its verdict says so', async (t) => {
  const { kept } = JSON.parse(JSON.stringify(findingsOf(runOf({ plan: { blocks: 2 } }), { blocks: 2 })))
  t.equal(kept.differences.length, 4)
  for (const difference of kept.differences) {
    t.match(difference, { because: 'too few blocks', verdict: 'not compared', tied: false, low: null, high: null })
    t.type(difference.ratio, 'number')
  }
  const full = (/** @type {any} */ { at }) => (at.phase === 'maximum' ? 1 : 0.2)
  const [first, , , maximum] = findingsOf(runOf({ generator: full })).kept.differences
  t.match(maximum, { verdict: 'not compared', tied: false, low: Number.NaN, high: Number.NaN })
  t.match(first, { because: '', verdict: 'tied', low: Number, high: Number })
})

t.test('without a valid trial of a side there is no answer; who refuses always is said to', async (t) => {
  t.equal(findingsOf(runOf({})).problem, null)
  t.match(
    findingsOf(runOf({ invalid: ({ cell }) => cell.side === 'b' })).problem,
    /^B answered not one request with success in a valid/,
  )
  t.match(findingsOf([]).problem, /^A answered not one request/)
  const refusing = runOf({ limit_rps: 0, noise: 0 })
  t.equal(findingsOf(refusing).problem, 'nothing could be compared: A and B refused requests; too few blocks')
  const sentence = answerSentence(differencesOf(refusing))
  t.match(sentence, /^Nothing could be compared\. Not compared: p50 at concurrency 1 \(A and B refused requests\), /)
  t.match(sentence, /maximum rate \(too few blocks\)\.$/)
  // Errors that come at once leave the core to the successes.
  const failing = runOf({ b: 0.5 }).map((record) => {
    const fails = record.cell.side === 'b' && record.at.phase === 'latency'
    return fails ? { ...record, traffic: { ...record.traffic, success_ratio: 0.4 } } : record
  })
  t.match(answerSentence(differencesOf(failing)), /Not compared: p50 at concurrency 1 \(B failed requests\), /)
})
