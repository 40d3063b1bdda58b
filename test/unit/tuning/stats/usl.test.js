import t from 'tap'
import { seededRandom } from '../../../../load/system/random.js'
import { fitLaw, predictedRate } from '../../../../tuning/stats/usl.js'

/** @import { Test } from 'tap' */

const LEVELS = [1, 2, 5, 10, 20, 50, 100]

/** @param {any} law @param {number[]} levels @param {() => number} [factor] */
function points(law, levels = LEVELS, factor = () => 1) {
  return levels.map((n) => ({ concurrency: n, rps: predictedRate(law, n) * factor() }))
}

/** @param {Test} t @param {any} found @param {any} expected null: exactly; a number: within 1 in 10,000 */
function near(t, found, expected) {
  t.strictSame(Object.keys(found).sort(), Object.keys(expected).sort())
  for (const [name, value] of Object.entries(expected)) {
    const isNear =
      value === null ? found[name] === null : Math.abs(found[name] - value) <= 1e-4 * Math.abs(value) + 1e-9
    t.ok(isNear, `${name}: ${found[name]}, expected ${value}`)
  }
}

t.test('predictedRate follows the law', async (t) => {
  const rows = [
    [{ lambda_rps: 100, sigma_ratio: 0, kappa_ratio: 0 }, 7, 700, 'nothing is shared'],
    [{ lambda_rps: 100, sigma_ratio: 1, kappa_ratio: 0 }, 7, 100, 'all queue for everything'],
    [{ lambda_rps: 100, sigma_ratio: 0.5, kappa_ratio: 0 }, 3, 150, '300 / (1 + 1)'],
    [{ lambda_rps: 100, sigma_ratio: 0, kappa_ratio: 0.25 }, 4, 100, '400 / (1 + 3)'],
    [{ lambda_rps: 100, sigma_ratio: 0.5, kappa_ratio: 0.25 }, 4, 400 / 5.5, '400 / (1 + 1.5 + 3)'],
    [{ lambda_rps: 100, sigma_ratio: 0.5, kappa_ratio: 0.25 }, 1, 100, 'one alone meets nobody'],
  ]
  for (const [law, n, expected, about] of /** @type {[any, number, number, string][]} */ (rows)) {
    t.equal(predictedRate(law, n), expected, about)
  }
})

t.test('fitLaw gives the coefficients of exact measurements back, and the peak or the limit', async (t) => {
  const both = { lambda_rps: 1000, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  const peak = Math.sqrt(0.95 / 0.0005)
  near(t, fitLaw(points(both)), {
    ...both,
    peak_concurrency: peak,
    peak_rps: predictedRate(both, peak),
    limit_rps: null,
  })
  const nothing = { peak_concurrency: null, peak_rps: null, limit_rps: null }
  const alone = { lambda_rps: 10, sigma_ratio: 0, kappa_ratio: 0 }
  near(t, fitLaw(points(alone)), { ...alone, ...nothing })
  const queues = { lambda_rps: 1000, sigma_ratio: 0.05, kappa_ratio: 0 }
  near(t, fitLaw(points(queues)), { ...queues, ...nothing, limit_rps: 20_000 })
  const talks = { lambda_rps: 1000, sigma_ratio: 0, kappa_ratio: 0.01 }
  near(t, fitLaw(points(talks)), {
    ...talks,
    peak_concurrency: 10,
    peak_rps: predictedRate(talks, 10),
    limit_rps: null,
  })
})

t.test('with more contention than work the rate only falls: the peak is at one', async (t) => {
  const law = { lambda_rps: 100, sigma_ratio: 2, kappa_ratio: 0.01 }
  near(t, fitLaw(points(law)), { ...law, peak_concurrency: 1, peak_rps: 100, limit_rps: null })
  const little = { lambda_rps: 100, sigma_ratio: 0, kappa_ratio: 4 }
  t.equal(fitLaw(points(little))?.peak_concurrency, 1, 'nor is it at less than one')
})

t.test('coefficients that would be negative are nil, and the others are fitted without them', async (t) => {
  const superlinear = fitLaw([1, 2, 3, 4].map((n) => ({ concurrency: n, rps: n ** 2 })))
  t.match(superlinear, { sigma_ratio: 0, kappa_ratio: 0, peak_concurrency: null, limit_rps: null })
  // N / X is 1, 3, 5 and 6: it rises ever more slowly, so coherency would be negative.
  const slowing = fitLaw([1, 2 / 3, 3 / 5, 4 / 6].map((rps, i) => ({ concurrency: i + 1, rps })))
  t.match(slowing, { kappa_ratio: 0, peak_concurrency: null, peak_rps: null })
  t.ok(slowing && slowing.sigma_ratio > 1 && slowing.limit_rps === slowing.lambda_rps / slowing.sigma_ratio)
  // It falls at first, then rises with the square: contention would be negative, and what limits is coherency.
  const dipping = fitLaw(
    [1, 2, 10, 20].map((n) => ({ concurrency: n, rps: n / (1 - 0.02 * (n - 1) + 0.01 * n * (n - 1)) })),
  )
  t.match(dipping, { sigma_ratio: 0, limit_rps: null })
  t.ok(dipping && dipping.kappa_ratio > 0 && Number(dipping.peak_concurrency) > 1)
})

t.test('noise does not hide a peak: where contention is nil, half of all fits would have less than none', async (t) => {
  const random = seededRandom(4)
  const law = { lambda_rps: 1000, sigma_ratio: 0, kappa_ratio: 0.0005 }
  const found = Array.from({ length: 100 }, () => fitLaw(points(law, LEVELS, () => 0.97 + 0.06 * random())))
  t.strictSame(
    found.filter((fit) => !(Math.abs(Number(fit?.kappa_ratio) / 0.0005 - 1) < 0.15)),
    [],
  )
  t.ok(found.filter((fit) => fit?.sigma_ratio === 0).length > 20)
})

t.test('squares are relative: what is small weighs as much as what is large', async (t) => {
  // Two repeats of each level, 10 % above and below: in relative terms they cancel out.
  const law = { lambda_rps: 1000, sigma_ratio: 0.1, kappa_ratio: 0.001 }
  const apart = [1.1, 0.9].flatMap((factor) =>
    LEVELS.map((n) => ({ concurrency: n, rps: predictedRate(law, n) / factor })),
  )
  const found = fitLaw(apart)
  t.ok(
    found && Math.abs(found.sigma_ratio - 0.1) < 1e-6 && Math.abs(found.kappa_ratio - 0.001) < 1e-8,
    JSON.stringify(found),
  )
  const random = seededRandom(9)
  const noisy = fitLaw(points(law, [...LEVELS, ...LEVELS, ...LEVELS], () => 0.97 + 0.06 * random()))
  t.ok(
    noisy && Math.abs(noisy.sigma_ratio - 0.1) < 0.02 && Math.abs(noisy.kappa_ratio - 0.001) < 0.0002,
    JSON.stringify(noisy),
  )
})

t.test('fewer than three different levels tell nothing of three coefficients', async (t) => {
  const law = { lambda_rps: 1000, sigma_ratio: 0.05, kappa_ratio: 0.0005 }
  t.equal(fitLaw([]), null)
  t.equal(fitLaw(points(law, [1, 10, 10])), null)
  t.ok(fitLaw(points(law, [1, 10, 20])))
  t.equal(fitLaw([...points(law, [1, 10, 20]), { concurrency: 30, rps: 0 }]), null, 'nor does a level without a rate')
})
