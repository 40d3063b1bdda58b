import t from 'tap'
import { figuresOf } from '../../../../../tuning/experiments/balance/figures.js'
import { queuedRatio } from '../../../../../tuning/experiments/balance/shares.js'
import { answerSentences, shapeText } from '../../../../../tuning/experiments/balance/verdict.js'
import { madeUp, PLAN } from '../../../../support/made-up/balance.js'

t.test('the answer says whether the published shape is there', async (t) => {
  const sentenceOf = (/** @type {number} */ p50, /** @type {number} */ blocks) => {
    const records = madeUp({ 'round-robin': { p50: 300, errors: 0 }, adaptive: { p50, errors: 0 } }, blocks)
    return answerSentences(figuresOf(PLAN, records).strategies, [], null)[0]
  }
  t.match(sentenceOf(200, 6), /All four are lower, as published \(95 % confidence each\)\. .*ours are uneven by design/)
  t.match(sentenceOf(200, 3), /Too few blocks to tell any of it from chance\./)
  t.match(sentenceOf(300, 6), /Whether all four are lower, as published, is open/)
  t.match(sentenceOf(400, 6), /Not lower \(95 % confidence each\): p25, p50, p75, p95\. So not the published shape/)
})

t.test('what is not significant is not settled, and what is surely not lower is', async (t) => {
  const effect = (/** @type {number} */ low, /** @type {number} */ high, tied = low <= 1 && high >= 1) => {
    return /** @type {any} */ ({ ratio: Math.sqrt(low * high), low, high, tied })
  }
  const [lower, open, higher] = [effect(0.7, 0.9), effect(0.9, 1.1), effect(1.1, 1.3)]
  const of = (/** @type {any[]} */ [p25, p50, p75, p95]) => shapeText({ p25, p50, p75, p95 })
  t.match(of([lower, lower, lower, lower]), /All four are lower/)
  t.match(of([lower, lower, lower, open]), /^Lower \(95 % confidence each\): p25, p50, p75\. .*is open/)
  t.notMatch(of([lower, lower, lower, open]), 'not the published shape')
  t.match(of([lower, lower, open, higher]), /^Lower .*p25, p50\. Not lower .*p95\. So not the published shape/)
  t.match(of([effect(0.7, 0.9, true), lower, lower, lower]), /is open/, 'the noise could have made it')
})

t.test('a herd is named where adaptive is surely slower and its requests queued', async (t) => {
  const sentence = (/** @type {any} */ adaptive, blocks = 6) => {
    const records = madeUp({ 'round-robin': { p50: 300, errors: 0, queued: 3 }, adaptive }, blocks)
    return answerSentences([], figuresOf(PLAN, records).crowded, null)[0]
  }
  t.match(
    sentence({ p50: 400, errors: 0, queued: 60 }),
    /16\.7 % of adaptive's requests .* 0\.8 % of round robin's: adaptive sends each request to the endpoint with the best score/,
  )
  t.match(sentence({ p50: 400, errors: 0, queued: 0 }), /queues do not explain it/)
  t.notMatch(sentence({ p50: 301, errors: 0, queued: 60 }), 'queue', 'it may be chance')
  t.notMatch(sentence({ p50: 400, errors: 0, queued: 60 }, 3), 'queue', 'too few blocks')
  const counts = {
    bin_ms: 100,
    names: [],
    from_s: 0,
    to_s: 0,
    endpoints: [{ requests: [4, 4], errors: [], queued: [0, 2] }],
  }
  t.equal(queuedRatio([counts, counts]), 1 / 4)
})

t.test('the simulation speaks of each number under way', async (t) => {
  const gains = (/** @type {number} */ gain) => ({ p25_ms: gain, p50_ms: gain, p75_ms: gain, p95_ms: gain })
  const few = { samples: 20, draws: 2000, all_lower_ratio: 0.05, as_published_ratio: 0 }
  const sentence = (/** @type {number[]} */ [none, uneven, noneMany, unevenMany]) => {
    const world = (/** @type {string} */ name, workers = 1, gain = 1) => ({ world: name, workers, gains: gains(gain) })
    const found = [
      world('equal, no memory', 1, none),
      world('uneven', 1, uneven),
      world('equal, no memory', 16, noneMany),
      world('uneven', 16, unevenMany),
    ]
    return answerSentences([], [], /** @type {any} */ ({ worlds: found, few }))[0]
  }
  const usual = sentence([1, 0.8, 1, 1.2])
  t.match(
    usual,
    'With 1 request in flight, adaptive is lower in all four percentiles over "uneven", but not over "equal, no memory".',
  )
  t.match(usual, 'With 16 requests in flight, adaptive is lower in all four percentiles over none of them.')
})
