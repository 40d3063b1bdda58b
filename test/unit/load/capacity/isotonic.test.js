import t from 'tap'
import { isotonicFit } from '../../../../load/capacity/rates.js'
import { seededRandom } from '../../../../load/system/random.js'

/** @param {number[]} values @param {number[]} [weights] */
function points(values, weights = values.map(() => 1)) {
  return values.map((value, i) => ({ value, weight: weights[i] }))
}

t.test('isotonicFit pools neighbours that fall', async (t) => {
  const rows = [
    [[], undefined, [], 'nothing to fit'],
    [[1, 2, 3], undefined, [1, 2, 3], 'what rises stays as it is'],
    [[1, 3, 2], undefined, [1, 2.5, 2.5], 'two that fall share their mean'],
    [[3, 2, 1], undefined, [2, 2, 2], 'all that fall are one block'],
    [[2, 2, 1, 5], undefined, [5 / 3, 5 / 3, 5 / 3, 5], 'a pool takes in the block before it'],
    [[0, 4, 0], [1, 1, 3], [0, 1, 1], 'by weight'],
    [[5, 1, 2, 3], undefined, [8 / 3, 8 / 3, 8 / 3, 3], 'an outlier at the start is spread out'],
  ]
  for (const [values, weights, fitted, about] of /** @type {[number[], number[] | undefined, number[], string][]} */ (
    rows
  )) {
    const fit = isotonicFit(points(values, weights))
    t.equal(fit.length, fitted.length, about)
    for (const [i, value] of fit.entries()) t.ok(Math.abs(value - fitted[i]) < 1e-12, `${about}: ${value}`)
  }
})

t.test('isotonicFit rises, keeps the weighted mean, and is nearest, whatever the values', async (t) => {
  const random = seededRandom(1)
  for (let run = 0; run < 200; run++) {
    const size = 1 + Math.floor(random() * 8)
    const given = Array.from({ length: size }, () => ({
      value: random() * 6 - 3,
      weight: 1 + Math.floor(random() * 5),
    }))
    const fit = isotonicFit(given)
    const rises = fit.every((value, i) => i === 0 || value >= fit[i - 1])
    const rest = given.reduce((sum, { value, weight }, i) => sum + weight * (value - fit[i]), 0)
    // The condition of Barlow et al. for the nearest: what is left over is at a right angle to the fit.
    const angle = given.reduce((sum, { value, weight }, i) => sum + weight * (value - fit[i]) * fit[i], 0)
    if (!rises || Math.abs(rest) > 1e-9 || Math.abs(angle) > 1e-9) t.fail(JSON.stringify({ given, fit, rest, angle }))
  }
})
