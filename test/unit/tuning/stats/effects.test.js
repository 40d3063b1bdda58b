import t from 'tap'
import { cellName } from '../../../../load/report/format.js'
import { interactions, mainEffects, noiseOf, ratioOf, ratioText, verdictOf } from '../../../../tuning/stats/effects.js'

/** @import { Test } from 'tap' */

const A = { name: 'A', levels: ['0', '1'] }
const B = { name: 'B', levels: ['0', '1'] }
const SILENT = { ratio: 1, deviation: 0, pairs: 9 }

/** @param {number} block @param {Record<string, string>} cell @param {number} value */
function observed(block, cell, value) {
  return { block, cell, value }
}

/**
 * One visit to each cell in each block, whose own level drifts by powers of ten.
 * @param {number} blocks
 * @param {{ name: string, levels: string[] }[]} knobs
 * @param {(levels: Record<string, string>, block: number) => number} effect
 */
function matrix(blocks, knobs, effect) {
  const cells = knobs.reduce(
    (all, { name, levels }) => all.flatMap((cell) => levels.map((level) => ({ ...cell, [name]: level }))),
    /** @type {Record<string, string>[]} */ ([{}]),
  )
  return Array.from({ length: blocks }, (_, block) => {
    return cells.map((levels) => observed(block, levels, 10 ** block * effect(levels, block)))
  }).flat()
}

/** @param {Test} t @param {any} found @param {any} expected ratios within rounding @param {string} about */
function near(t, found, expected, about) {
  const { ratio, low, high, ...rest } = found
  const { ratio: wanted, low: wantedLow = wanted, high: wantedHigh = wanted, ...others } = expected
  t.strictSame(rest, others, about)
  const isNear = (/** @type {number} */ a, /** @type {number} */ b) => Object.is(a, b) || Math.abs(a / b - 1) < 1e-9
  t.ok(isNear(ratio, wanted), `${about}: ${ratio}, expected ${wanted}`)
  t.ok(isNear(low, wantedLow) && isNear(high, wantedHigh), `${about}: ${low} to ${high}`)
}

t.test('the noise is the difference of visits to the same cell in the same block', async (t) => {
  const [x, y] = [{ A: '0' }, { A: '1' }]
  const { ratio, deviation, pairs } = noiseOf([
    observed(0, x, 100),
    observed(0, y, 900),
    observed(0, x, 200),
    observed(1, x, 5000),
    observed(1, x, 5000),
    observed(1, x, 5000 * Math.E),
    observed(2, x, 7),
  ])
  const expected = Math.sqrt((Math.LN2 ** 2 + 0 + 1 + 1) / 4)
  t.equal(pairs, 4)
  t.ok(Math.abs(deviation - expected) < 1e-12, `${deviation}`)
  t.ok(Math.abs(ratio - Math.exp(1.96 * expected)) < 1e-9, `${ratio}`)
  t.strictSame(noiseOf([]), { ratio: 1, deviation: 0, pairs: 0 })
  t.strictSame(noiseOf([observed(0, x, 1), observed(1, x, 2), observed(1, y, 3)]), { ratio: 1, deviation: 0, pairs: 0 })
})

t.test('the effect of a level is the ratio to the reference, all else alike, within a block', async (t) => {
  const double = matrix(6, [A], ({ A }) => (A === '1' ? 2 : 1))
  const rows = [
    ['six pairs', double, { level: '1', ratio: 2, pairs: 6, tied: false }],
    [
      'five are too few for an interval',
      double.slice(0, 10),
      { level: '1', ratio: 2, low: 0, high: Number.POSITIVE_INFINITY, pairs: 5, tied: true },
    ],
    [
      'a block without the reference is left out',
      double.slice(1),
      { level: '1', ratio: 2, low: 0, high: Number.POSITIVE_INFINITY, pairs: 5, tied: true },
    ],
    [
      'a block without the level is left out',
      [...double, observed(6, { A: '0' }, 5)],
      { level: '1', ratio: 2, pairs: 6, tied: false },
    ],
    [
      'visits to a cell are averaged on logarithms, and paired once',
      matrix(6, [A], () => 1).flatMap((one) => [one, { ...one, value: one.value * (one.cell.A === '1' ? 16 : 1) }]),
      { level: '1', ratio: 4, pairs: 6, tied: false },
    ],
    [
      'each level of another knob makes a pair',
      matrix(3, [A, B], ({ A, B }) => (A === '1' ? 0.5 : 1) * (B === '1' ? 9 : 1)),
      { level: '1', ratio: 0.5, pairs: 6, tied: false },
    ],
    ['none', [], { level: '1', ratio: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY, pairs: 0, tied: true }],
  ]
  for (const [about, observations, expected] of /** @type {[string, any, any][]} */ (rows)) {
    const effects = mainEffects(observations, A, SILENT)
    t.equal(effects.length, 1, about)
    near(t, effects[0], expected, about)
  }
  const three = { name: 'A', levels: ['x', 'y', 'z'] }
  const [y, z] = mainEffects(
    matrix(6, [three], ({ A }) => ({ x: 1, y: 3, z: 1 / 3 })[A] ?? 0),
    three,
    SILENT,
  )
  near(t, y, { level: 'y', ratio: 3, pairs: 6, tied: false }, 'the second level')
  near(t, z, { level: 'z', ratio: 1 / 3, pairs: 6, tied: false }, 'the third level')
  const swapped = double.map((one) => ({
    ...one,
    cell: /** @type {Record<string, string>} */ (one.cell.A === '1' ? { B: 'b', A: '1' } : { A: '0', B: 'b' }),
  }))
  near(
    t,
    mainEffects(swapped, A, SILENT)[0],
    { level: '1', ratio: 2, pairs: 6, tied: false },
    'in any order of the knobs',
  )
})

t.test('a level is tied where its interval holds 1, or noise could have made the difference', async (t) => {
  const effects = (/** @type {number[]} */ ratios, deviation = 0) => {
    const observations = matrix(ratios.length, [A], ({ A }, block) => (A === '1' ? ratios[block] : 1))
    return mainEffects(observations, A, { ...SILENT, deviation })[0].tied
  }
  // Six differences of ln 2 are more than 1.96 deviations of their mean.
  const most = (Math.LN2 * Math.sqrt(6)) / 1.96
  const rows = [
    [effects([2, 2, 2, 2, 2, 2]), false, 'twice as much each time'],
    [effects([2, 2, 2, 2, 2, 0.5]), true, 'but once'],
    [effects([2, 2, 2, 2, 2, 1]), true, 'once as much'],
    [effects([0.5, 0.5, 0.5, 0.5, 0.5, 1]), true, 'once as little'],
    [effects([2, 2, 2, 2, 2, 2], 0.99 * most), false, 'more than the noise'],
    [effects([2, 2, 2, 2, 2, 2], 1.01 * most), true, 'less than the noise'],
    [effects([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 0.99 * most), false, 'less by more than the noise'],
    [effects([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], 1.01 * most), true, 'less by less than the noise'],
  ]
  for (const [tied, expected, about] of rows) t.equal(tied, expected, String(about))
  const repeated = matrix(6, [A], ({ A }) => (A === '1' ? 2 : 1)).flatMap((one) => [
    one,
    { ...one, value: one.value * 9 },
  ])
  t.equal(mainEffects(repeated, A)[0].tied, true, 'the noise is that of the observations, if none is given')
})

t.test('an interaction is the ratio of two ratios', async (t) => {
  const half = (/** @type {Record<string, string>} */ { A, B }) => {
    return (A === '1' ? 3 : 1) * (B === '1' ? 5 : 1) * (A === '1' && B === '1' ? 0.5 : 1)
  }
  const all = matrix(6, [A, B], half)
  const both = { level: 'A=1 with B=1', ratio: 0.5, pairs: 6, tied: false }
  near(t, interactions(all, [A, B], SILENT)[0], both, 'half of the product')
  const product = matrix(6, [A, B], ({ A, B }) => (A === '1' ? 2 : 1) * (B === '1' ? 4 : 1))
  near(t, interactions(product, [A, B], SILENT)[0], { ...both, ratio: 1, tied: true }, 'the product')
  near(t, interactions([...all, ...all], [A, B], SILENT)[0], both, 'a cell that is visited twice counts once')
  for (const cell of ['A=0 B=0', 'A=0 B=1', 'A=1 B=0', 'A=1 B=1']) {
    const seven = [...all, ...matrix(7, [A, B], half).filter((one) => one.block === 6 && cellName(one.cell) !== cell)]
    near(t, interactions(seven, [A, B], SILENT)[0], both, `a block without ${cell} is left out`)
  }
  t.strictSame(interactions([], [A, B], SILENT), [], 'nothing was measured')
  t.strictSame(interactions(all, [A], SILENT), [], 'a single knob')
  // Its noise is that of two differences.
  const most = (Math.LN2 * Math.sqrt(6)) / 1.96 / Math.SQRT2
  t.equal(interactions(all, [A, B], { ...SILENT, deviation: 0.99 * most })[0].tied, false)
  t.equal(interactions(all, [A, B], { ...SILENT, deviation: 1.01 * most })[0].tied, true)
  const repeated = all.flatMap((one) => [one, { ...one, value: one.value * 9 }])
  t.equal(interactions(repeated, [A, B])[0].tied, true, 'the noise is that of the observations, if none is given')
})

t.test('interactions are those of each pair of knobs and levels, the strongest first', async (t) => {
  const knobs = [{ name: 'A', levels: ['0', '1', '2'] }, B, { name: 'C', levels: ['0', '1'] }]
  const found = interactions(
    matrix(3, knobs, ({ A, B, C }) => {
      const strong = A === '1' && B === '1' ? 1 / 8 : 1
      const weaker = A === '2' && C === '1' ? 4 : 1
      const weakest = B === '1' && C === '1' ? 1.5 : 1
      return strong * weaker * weakest
    }),
    knobs,
    SILENT,
  )
  t.strictSame(
    found.slice(0, 3).map(({ level, ratio, pairs }) => [level, Number(ratio.toFixed(6)), pairs]),
    [
      ['A=1 with B=1', 0.125, 6],
      ['A=2 with C=1', 4, 6],
      ['B=1 with C=1', 1.5, 9],
    ],
  )
  t.strictSame(
    found
      .slice(3)
      .map(({ level }) => level)
      .sort(),
    ['A=1 with C=1', 'A=2 with B=1'],
  )
})

t.test('two cells against each other, block by block', async (t) => {
  const observations = matrix(7, [A], ({ A }) => (A === '1' ? 2 : 1)).slice(1)
  near(
    t,
    ratioOf(observations, { A: '1' }, { A: '0' }, SILENT),
    { level: 'A=1', ratio: 2, pairs: 6, tied: false },
    'twice as much',
  )
  near(
    t,
    ratioOf(observations, { A: '0' }, { A: '1' }, SILENT),
    { level: 'A=0', ratio: 0.5, pairs: 6, tied: false },
    'half as much',
  )
  const repeated = observations.flatMap((one) => [one, { ...one, value: one.value * (one.cell.A === '1' ? 16 : 1) }])
  near(
    t,
    ratioOf(repeated, { A: '1' }, { A: '0' }, SILENT),
    { level: 'A=1', ratio: 8, pairs: 6, tied: false },
    'the mean of its visits',
  )
  const noisy = observations.flatMap((one) => [one, { ...one, value: one.value * 9 }])
  t.equal(ratioOf(noisy, { A: '1' }, { A: '0' }).tied, true, 'the noise is that of the observations, if none is given')
})

t.test('a ratio is printed with its interval', async (t) => {
  const rows = [
    [{ ratio: 0.714, low: 0.66, high: 0.751 }, '0.71x [0.66–0.75]', 'two digits behind the point'],
    [{ ratio: 0.0714, low: 0.0666, high: 0.1 }, '0.071x [0.067–0.10]', 'of a small one its first two digits'],
    [{ ratio: 123.4, low: 99.991, high: 100 }, '123x [99.99–100]', 'of a large one none'],
    [{ ratio: 0.92, low: 0.8, high: 0.9961 }, '0.92x [0.80–0.996]', 'an end near 1 is not rounded to 1'],
    [{ ratio: 1.02, low: 1.0012, high: 1.04 }, '1.02x [1.001–1.04]', 'nor is it above 1'],
    [{ ratio: 0.99, low: 0.9961, high: 1.0034 }, '0.99x [1.00–1.00]', 'unless the interval contains 1'],
    [{ ratio: 1, low: 1, high: 1 }, '1.00x [1.00–1.00]', 'no difference at all'],
    [{ ratio: 2, low: 0, high: Number.POSITIVE_INFINITY }, '2.00x [too few pairs]', 'without an interval'],
    [{ ratio: Number.NaN, low: 0, high: Number.POSITIVE_INFINITY }, '–', 'nothing was measured'],
  ]
  for (const [effect, text, about] of /** @type {[any, string, string][]} */ (rows))
    t.equal(ratioText(effect), text, about)
})

t.test('a verdict: beyond 1 on the side that was claimed, and large enough', async (t) => {
  const of = (
    /** @type {any} */ expect,
    /** @type {number} */ least_ratio,
    /** @type {number[]} */ [low, ratio, high],
  ) => {
    return verdictOf({ expect, least_ratio }, { low, ratio, high, pairs: 6 })
  }
  t.equal(of('more', 1.5, [1.2, 1.6, 2]), 'reproduced')
  t.equal(of('more', 1.5, [0.9, 1.6, 2]), 'undecided')
  t.equal(of('more', 1.5, [1.1, 1.3, 1.6]), 'undecided')
  t.equal(of('more', 1.5, [1.1, 1.2, 1.4]), 'refuted')
  t.equal(of('less', 2, [0.3, 0.4, 0.6]), 'reproduced')
  t.equal(of('less', 2, [0.9, 1, 1.1]), 'refuted')
  t.equal(of('same', 1.25, [0.85, 1, 1.2]), 'reproduced')
  t.equal(of('same', 1.25, [0.7, 1, 1.2]), 'undecided')
  t.equal(of('same', 1.25, [1.3, 1.5, 1.6]), 'refuted')
  t.equal(of('same', 1.25, [0.3, 0.5, 0.7]), 'refuted')
  t.equal(
    verdictOf({ expect: 'more', least_ratio: 2 }, { low: 0, ratio: 5, high: Number.POSITIVE_INFINITY, pairs: 3 }),
    'undecided',
  )
  t.equal(
    verdictOf({ expect: 'same', least_ratio: 2 }, { low: 0, ratio: 1, high: Number.POSITIVE_INFINITY, pairs: 0 }),
    'not measured',
  )
})
