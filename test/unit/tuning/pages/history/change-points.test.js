import t from 'tap'
import { normal, seededRandom } from '../../../../../load/system/random.js'
import { changePoints, LEAST_TO_CHANGE } from '../../../../../tuning/pages/history/change-points.js'

/** Values around the levels, so many of each. @param {number} seed @param {[level: number, count: number, deviation?: number][]} levels */
function series(seed, levels) {
  const random = seededRandom(seed)
  return levels.flatMap(([level, count, deviation = 1]) =>
    Array.from({ length: count }, () => level + deviation * normal(random)),
  )
}

t.test('a level that changes is found, where it changes', async (t) => {
  let more = 0
  for (let seed = 1; seed <= 20; seed++) {
    const levels = /** @type {[number, number][]} */ ([
      [0, 12],
      [4, 12],
    ])
    const found = changePoints(series(seed, levels))
    t.ok(
      found.some((at) => Math.abs(at - 12) <= 1),
      `seed ${seed}: ${found}`,
    )
    more += found.length - 1
  }
  t.ok(more <= 2, `${more} others`)
})

t.test('so are several, and a change of the spread alone', async (t) => {
  const levels = /** @type {[number, number][]} */ ([
    [0, 15],
    [6, 15],
    [-6, 15],
  ])
  t.strictSame(changePoints(series(3, levels)), [15, 30])
  const spread = series(5, [
    [0, 40, 0.2],
    [0, 40, 4],
  ])
  const found = changePoints(spread)
  t.ok(found.length >= 1 && Math.abs(found[0] - 40) <= 4, String(found))
})

t.test('noise alone is hardly ever a change: one in fifty, by design', async (t) => {
  let found = 0
  for (let seed = 1; seed <= 100; seed++) found += changePoints(series(seed, [[0, 20]]), seed).length > 0 ? 1 : 0
  t.ok(found <= 6, `${found} of 100`)
})

t.test('of few values nothing is said; the same values have no change', async (t) => {
  for (const values of [[], [1], [1, 2, 9, 9, 9], Array(30).fill(7)]) t.strictSame(changePoints(values), [])
})

t.test('as few values as are called enough can show a change, and one fewer cannot', async (t) => {
  t.equal(LEAST_TO_CHANGE, 9)
  const jump = (/** @type {number} */ count) =>
    Array.from({ length: count }, (_, i) => i / 100 + (i < Math.floor(count / 2) ? 0 : 9))
  const foundOf = (/** @type {number} */ count) =>
    Array.from({ length: 40 }, (_, seed) => changePoints(jump(count), seed)).filter(({ length }) => length > 0).length
  t.ok(foundOf(LEAST_TO_CHANGE) > 20, 'in most orders of the permutations')
  t.equal(foundOf(LEAST_TO_CHANGE - 1), 0)
})
