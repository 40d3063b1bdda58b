import fc from 'fast-check'
import t from 'tap'
import { balance } from '../../../../../tuning/experiments/balance/balance.js'
import {
  choose,
  createState,
  decay,
  observe,
  PUBLISHED_PARAMETERS,
} from '../../../../../tuning/experiments/balance/balancers.js'

const P = PUBLISHED_PARAMETERS
const SEEN = { samples: 20, median_ms: 100, p95_ms: 200 }

t.test('an answer multiplies the score of its endpoint by rank and factor', async (t) => {
  /** @type {[string, { latency_ms: number, status: number, samples?: number }, number][]} */
  const cases = [
    ['faster than the median', { latency_ms: 99, status: 200 }, 0.5 + 0.52],
    ['the median itself', { latency_ms: 100, status: 200 }, 0.75 + 0.52],
    ['up to the 95th percentile', { latency_ms: 200, status: 200 }, 0.75 + 0.52],
    ['beyond it', { latency_ms: 201, status: 200 }, 1 + 0.52],
    ['an error that came fast', { latency_ms: 5, status: 400 }, 0.5 + 3],
    ['an error that came late', { latency_ms: 999, status: 503 }, 1 + 3],
    ['too few samples yet', { latency_ms: 999, status: 503, samples: 19 }, 1],
  ]
  for (const [name, { samples = 20, ...answer }, score] of cases) {
    const before = createState(3)
    const after = observe(before, { endpoint: 1, ...answer }, { ...SEEN, samples }, P)
    t.strictSame(after.scores, [1, score, 1], name)
    t.strictSame(before.scores, [1, 1, 1], `${name}: the state before is what it was`)
  }
})

t.test('one score above 1 decays with each request, in turn, and large ones faster', async (t) => {
  const rounds = [0, 1, 2].reduce(
    (states) => [...states, decay(states[states.length - 1], P)],
    [{ scores: [2, 1, 4], turn: 0, first: 0 }],
  )
  t.strictSame(
    rounds.map(({ scores }) => scores),
    [
      [2, 1, 4],
      [2 * 0.95, 1, 4],
      [2 * 0.95, 1, 4 * 0.95],
      [2 * 0.95 * 0.95, 1, 4 * 0.95],
    ],
  )
  for (const [score, by] of [
    [100, 0.95],
    [101, 0.92],
    [1001, 0.9],
    [10_001, 0.8],
  ]) {
    t.equal(decay({ scores: [score], turn: 0, first: 0 }, P).scores[0], score * by, String(score))
  }
  t.strictSame(decay({ scores: [1, 0.9], turn: 0, first: 0 }, P).scores, [1, 0.9], 'nothing to decay')
})

t.test('the lowest score is chosen, whatever the scores', async (t) => {
  const scores = fc.array(fc.double({ min: 0.01, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(scores, fc.nat(), fc.nat(), (scores, turn, first) => {
      const before = { scores, turn: turn % scores.length, first: first % scores.length }
      const { endpoint, state } = choose(before, P)
      return state.scores.every((score) => score >= state.scores[endpoint])
    }),
  )
  let state = createState(3)
  const order = Array.from({ length: 6 }, () => {
    const chosen = choose(state, P)
    state = chosen.state
    return chosen.endpoint
  })
  t.strictSame(order, [0, 1, 2, 0, 1, 2], 'equal scores take turns')
})

t.test('a factor that is allowed keeps the score of a fast endpoint, one that is refused loses it', async (t) => {
  const scoreWith = (/** @type {number} */ factor) => {
    let state = createState(1)
    const answer = { endpoint: 0, latency_ms: 1, status: 200 }
    for (let i = 0; i < 5000; i++) state = decay(observe(state, answer, SEEN, { ...P, factor }), P)
    return state.scores[0]
  }
  t.equal(balance.flags.factor.parse?.('0.3'), undefined)
  t.ok(scoreWith(0.3) < 1e-300)
  t.ok(scoreWith(Number(balance.flags.factor.parse?.('0.501'))) > 0.9)
})
