import t from 'tap'
import { normal, seededRandom } from '../../../../load/system/random.js'
import { factorial, visitsOf } from '../../../../tuning/stats/design.js'
import { interactions, mainEffects, noiseOf, ratioText } from '../../../../tuning/stats/effects.js'

/** @import { Cell } from '../../../../load/report/record.js' */

const POOL = { name: 'POOL_MAX', levels: [20, 5, 40] }
const MODE = { name: 'INSERT_MODE', levels: ['batched', 'single'] }

/** Runs without any effect: enough to tell 5 % from 8 %. */
const RUNS = 300

/**
 * A matrix with known effects, and noise on the logarithm: its own in each visit, and one that each block shares.
 * @param {number} seed
 * @param {{ effect?: (levels: Cell) => number, noise?: number, blocks?: number, knobs?: any[], heavy?: boolean }} [options]
 */
function matrix(seed, { effect = () => 1, noise = 0.1, blocks = 4, knobs = [POOL, MODE], heavy = false } = {}) {
  const random = seededRandom(seed)
  // A stall now and then: symmetric, but far out.
  const disturbance = () => normal(random) * noise * (heavy && random() < 0.1 ? 5 : 1)
  const cells = factorial(knobs)
  const drift = Array.from({ length: blocks }, () => 0.5 * normal(random))
  return visitsOf({ cells, anchor: cells[0], blocks, seed }).map(({ block, cell }) => {
    return { block, cell, value: 1000 * effect(cell) * Math.exp(drift[block] + disturbance()) }
  })
}

t.test('known effects are found, drift of the blocks notwithstanding', async (t) => {
  const effect = (/** @type {Cell} */ { POOL_MAX, INSERT_MODE }) => {
    return (POOL_MAX === 5 ? 0.7 : 1) * (INSERT_MODE === 'single' ? 0.25 : 1)
  }
  let inside = 0
  for (let seed = 0; seed < 100; seed++) {
    const [five, forty] = mainEffects(matrix(seed, { effect }), POOL)
    if (five.low <= 0.7 && five.high >= 0.7) inside++
    if (seed > 0) continue
    t.equal(five.pairs, 8)
    t.notOk(five.tied)
    t.ok(forty.low < 1 && forty.high > 1)
  }
  t.ok(inside / 100 >= 0.93, `${inside} of 100 intervals hold the effect`)
  const [single] = mainEffects(matrix(1, { effect }), MODE)
  t.ok(single.ratio > 0.22 && single.ratio < 0.28, String(single.ratio))
})

t.test(
  'where nothing has an effect, one interval in twenty says otherwise, and fewer pass the noise floor',
  async (t) => {
    for (const heavy of [false, true]) {
      const found = Array.from({ length: RUNS }, (_, seed) => {
        const observations = matrix(seed, { heavy })
        return [...mainEffects(observations, POOL), ...mainEffects(observations, MODE)]
      }).flat()
      const outside = found.filter(({ low, high }) => low > 1 || high < 1).length / found.length
      const untied = found.filter(({ tied }) => !tied).length / found.length
      t.ok(outside <= 0.08, `${outside} of the intervals miss 1 (${heavy ? 'heavy tails' : 'normal'})`)
      t.ok(untied <= outside && untied <= 0.05, `${untied} are no tie`)
    }
  },
)

t.test('an interaction is found where there is one, and not where there is none', async (t) => {
  const knobs = [
    { name: 'a', levels: ['0', '1'] },
    { name: 'b', levels: ['0', '1'] },
  ]
  const together = (/** @type {Cell} */ { a, b }) => (a === '1' && b === '1' ? 0.5 : 1)
  const [found] = interactions(matrix(5, { knobs, effect: together, blocks: 8 }), knobs)
  t.match(found, { level: 'a=1 with b=1', tied: false, pairs: 8 })
  t.ok(found.low < 0.5 && found.high > 0.5, ratioText(found))
  const product = (/** @type {Cell} */ { a, b }) => (a === '1' ? 0.5 : 1) * (b === '1' ? 3 : 1)
  const none = Array.from(
    { length: 100 },
    (_, seed) => interactions(matrix(seed, { knobs, effect: product, blocks: 8 }), knobs)[0],
  )
  t.ok(none.filter(({ tied }) => !tied).length / 100 <= 0.1)
})

t.test('the noise floor is what the visits to the same cell differ by', async (t) => {
  const wide = Array.from({ length: 50 }, (_, seed) => noiseOf(matrix(seed, { noise: 0.1 })).deviation)
  const mean = wide.reduce((sum, deviation) => sum + deviation) / wide.length
  t.ok(Math.abs(mean - 0.1 * Math.SQRT2) < 0.02, `${mean}: of a difference of two visits`)
  t.match(noiseOf([]), { pairs: 0, deviation: 0 })
})
