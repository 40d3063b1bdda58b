import t from 'tap'
import { normal, seededRandom } from '../../../../../load/system/random.js'
import { criterionOf, decisionOf, pairsOf } from '../../../../../tuning/experiments/gate/decision.js'
import { blocksToDecide, estimateOf, pairOf, verdictOf } from '../../../../../tuning/stats/twice.js'

const RUNS = 1000
/** As many as the gate measures by default. */
const BLOCKS = 24

/**
 * What a gate would say of a head that costs `ratio` times the base, after each block until it is decided.
 * @param {number} seed
 * @param {{ ratio: number, noise: (block: number, random: () => number) => number, tolerance_ratio?: number, heads?: number }} truth noise:
 *   standard deviation of the logarithm of each side's figure; heads: in a block: two where all sides are loaded at once, one in turns
 */
function verdictIn(seed, { ratio, noise, tolerance_ratio = 0.02, heads = 2 }) {
  const random = seededRandom(Math.imul(seed, 2_654_435_761))
  const pairs = []
  for (let block = 0; block < BLOCKS; block++) {
    const deviation = noise(block, random)
    const figures = [1, 1, ratio, ratio].map((mean) => mean * Math.exp(deviation * normal(random)))
    pairs.push(pairOf(figures.slice(0, 2), figures.slice(2, 2 + heads)))
    const verdict = verdictOf(pairs, { tolerance_ratio, isBetter: 'less' })
    if (verdict !== 'undecided') return verdict
  }
  return 'undecided'
}

/** @param {Parameters<typeof verdictIn>[1]} truth */
function countsOf(truth, runs = RUNS) {
  const counts = { 'same or better': 0, regressed: 0, undecided: 0 }
  for (let seed = 1; seed <= runs; seed++) counts[verdictIn(seed, truth)]++
  return counts
}

t.test('a commit against itself is hardly ever regressed, however noisy the machine', async (t) => {
  // Enough to notice a true share of 9 %: the probability of 25 or fewer of 500 is then 0.05 %.
  const runs = RUNS / 2
  for (const heads of [1, 2]) {
    for (const deviation of [0.005, 0.01, 0.02, 0.05, 0.2]) {
      const { regressed } = countsOf({ ratio: 1, noise: () => deviation, heads }, runs)
      t.ok(regressed <= 0.05 * runs, `${deviation}, ${heads}: ${regressed} of ${runs}`)
    }
  }
  t.ok(countsOf({ ratio: 1, noise: () => 0.01 })['same or better'] >= 0.95 * RUNS)
})

t.test('five per cent more is found', async (t) => {
  const { regressed, 'same or better': missed } = countsOf({ ratio: 1.05, noise: () => 0.015 })
  t.ok(regressed >= 0.9 * RUNS, `${regressed} of ${RUNS}`)
  t.equal(missed, 0)
})

t.test('two per cent more is hardly ever the same to a tolerance of one', async (t) => {
  for (const deviation of [0.003, 0.01, 0.02]) {
    const found = countsOf({ ratio: 1.02, noise: () => deviation, tolerance_ratio: 0.01 })
    t.ok(found['same or better'] <= 0.002 * RUNS, `${deviation}: ${JSON.stringify(found)}`)
  }
  t.ok(countsOf({ ratio: 1.02, noise: () => 0.004, tolerance_ratio: 0.01 }).regressed >= 0.9 * RUNS)
})

t.test('beside a neighbour that comes and goes it does not know, rather than being wrong', async (t) => {
  const noise = (/** @type {number} */ _, /** @type {() => number} */ random) => (random() < 0.5 ? 0.15 : 0.01)
  const same = countsOf({ ratio: 1, noise })
  t.ok(same.regressed <= 0.005 * RUNS, JSON.stringify(same))
  const worse = countsOf({ ratio: 1.05, noise })
  t.ok(worse['same or better'] <= 0.005 * RUNS, JSON.stringify(worse))
})

t.test('less throughput is worse, and more is better', async (t) => {
  const pairs = (/** @type {number} */ ratio) =>
    Array.from({ length: 5 }, (_, i) => ({ apart: Math.log(ratio) + (i - 2) / 2000, noise: [(i - 2) / 1000] }))
  const how = { tolerance_ratio: 0.02, isBetter: /** @type {const} */ ('more') }
  t.equal(verdictOf(pairs(0.9), how), 'regressed')
  t.equal(verdictOf(pairs(1.1), how), 'same or better')
  t.equal(verdictOf(pairs(0.98), how), 'undecided')
  t.equal(verdictOf(pairs(0.9).slice(0, 2), how), 'undecided', 'two blocks do not tell')
})

t.test('the interval is that of Student with 2n - 1 degrees of freedom, from all kinds of differences', async (t) => {
  // Both have a variance of 6 s² / 5 with s = 0.01: t(5) = 2.571, t(1) = 12.71.
  const pairs = [-1, 0, 1].map((sign) => ({ apart: 0.05 + sign * 0.01, noise: [sign * 0.02] }))
  const { ratio, low, high, blocks } = estimateOf(pairs)
  t.equal(blocks, 3)
  t.ok(Math.abs(Math.log(ratio) - 0.05) < 1e-12)
  const deviation = Math.sqrt((2 * (0.0001 / 1.5) + 2 * (0.0004 / 2)) / 5)
  t.ok(Math.abs(Math.log(high / ratio) / (2.571 * deviation * Math.sqrt(0.5)) - 1) < 0.01)
  t.ok(Math.abs(Math.log(ratio / low) - Math.log(high / ratio)) < 1e-12)
  t.strictSame([estimateOf(pairs.slice(0, 1)).high, estimateOf(pairs.slice(0, 1)).low], [Number.POSITIVE_INFINITY, 0])
  t.ok(estimateOf(pairs, 'worse').high > high)
  // Two heads: eight terms of the variance, but the same t(5), and the mean of the heads varies by s² instead of 3/2 s².
  const twice = pairs.map(({ apart, noise: [noise] }) => ({ apart, noise: [noise, -noise] }))
  const wide = estimateOf(twice)
  const spread = Math.sqrt((2 * 0.0001 + 4 * (0.0004 / 2)) / 8)
  t.ok(Math.abs(Math.log(wide.high / wide.ratio) / (2.571 * spread * Math.sqrt(1 / 3)) - 1) < 0.01)
  t.strictSame(
    estimateOf([...twice.slice(0, 2), pairs[2]]),
    estimateOf(pairs),
    'a block with one head: as if all had one',
  )
})

t.test('a fifth of the blocks at either end may be as far off as they like', async (t) => {
  const pairs = Array.from({ length: 10 }, (_, i) => ({ apart: 0.05 + (i - 4.5) / 1000, noise: [(i - 4.5) / 500] }))
  const spoilt = pairs
    .with(0, { apart: 3, noise: [-2] })
    .with(9, { apart: -4, noise: [5] })
    .with(4, { apart: 0.9, noise: [1] })
  const [clean, found] = [estimateOf(pairs), estimateOf(spoilt)]
  t.ok(Math.abs(Math.log(found.ratio / clean.ratio)) < 0.001, `${clean.ratio} ${found.ratio}`)
  t.ok(Math.log(found.high / found.low) < 2 * Math.log(clean.high / clean.low), `${found.low} to ${found.high}`)
  t.ok(
    Math.log(estimateOf([...spoilt, pairs[0], pairs[0]].with(3, spoilt[0]).with(5, spoilt[0])).high) > 0.3,
    'not more',
  )
})

t.test('how many blocks would decide', async (t) => {
  const pairs = Array.from({ length: 4 }, (_, i) => ({ apart: 0.01 + (i - 1.5) / 100, noise: [(i - 1.5) / 100] }))
  const how = { tolerance_ratio: 0.02, isBetter: /** @type {const} */ ('less') }
  const more = blocksToDecide(pairs, how)
  t.ok(more > 4 && more < 100, String(more))
  t.equal(blocksToDecide(pairs.slice(0, 1), how), Number.POSITIVE_INFINITY)
  const better = pairs.map(({ apart, noise }) => ({ apart: apart - 0.03, noise }))
  t.ok(blocksToDecide(better, how) < more, 'what is better by the tolerance is far from being worse by it')
  const mirrored = better.map(({ apart, noise }) => ({ apart: -apart, noise }))
  t.equal(blocksToDecide(mirrored, { ...how, isBetter: 'more' }), blocksToDecide(better, how))
})

t.test(
  'where nobody knows the CPU, the throughput decides; a block counts where all sides have a valid figure',
  async (t) => {
    const record = (
      /** @type {number} */ block,
      /** @type {string} */ side,
      /** @type {number} */ goodput_rps,
      verdict = 'pass',
    ) => {
      return /** @type {any} */ ({
        at: { phase: 'cost', block },
        cell: { side },
        traffic: { goodput_rps, success_ratio: 1 },
        probes: { api: {} },
        outcome: { verdict },
      })
    }
    const records = [
      ...[record(0, 'base', 100), record(0, 'base', 120), record(0, 'again', 110), record(0, 'head', 220)],
      ...[record(1, 'base', 100), record(1, 'again', 110), record(1, 'head', 220, 'invalid')],
    ]
    const criterion = criterionOf(records)
    t.equal(criterion.name, 'throughput')
    const [pair, ...others] = pairsOf(records, criterion)
    t.strictSame(others, [])
    t.ok(Math.abs(pair.apart - Math.log(2)) < 1e-12, JSON.stringify(pair))
    t.ok(pair.noise.length === 1 && Math.abs(pair.noise[0]) < 1e-12, 'in turns, there is one head')
    records[0].probes.api.cpu_us_per_request = 10
    t.equal(criterionOf(records).name, 'throughput', 'the CPU of one side says nothing')
    for (const one of records) one.probes.api.cpu_us_per_request = 10
    t.equal(criterionOf(records).name, 'CPU per request')
  },
)

t.test('each second of a trial of all sides is compared for itself; all sides must have kept up', async (t) => {
  // In the first second the core is half as fast, and in the second one V8 compiles in the head.
  const windows = [
    { base: 200, again: 242, head: 440, 'head again': 440 },
    { base: 100, again: 121, head: 900, 'head again': 220 },
    { base: 100, again: 121, head: 220, 'head again': 220 },
  ]
  const record = (/** @type {number} */ block, /** @type {number} */ again) => {
    const probes = { api: { cpu_us_per_request: 1000 }, target: { cpu_us_per_request: windows } }
    const place = { at: { phase: 'together', block }, cell: { side: 'all' } }
    const how = {
      traffic: { success_ratio: 1 },
      beside: { success_ratios: { base: 1, again, head: 1, 'head again': 1 } },
    }
    return /** @type {any} */ ({ ...place, ...how, probes, outcome: { verdict: 'pass' } })
  }
  const criterion = criterionOf([record(0, 1)])
  t.strictSame([criterion.name, criterion.phase], ['CPU per request', 'together'])
  const pairs = pairsOf([record(0, 1), record(1, 0.99), record(2, 0.989)], criterion)
  t.equal(pairs.length, 2)
  for (const { apart, noise } of pairs) {
    t.strictSame(
      [apart, ...noise].map((figure) => figure.toFixed(9)),
      [2, 1.21, 1].map((ratio) => Math.log(ratio).toFixed(9)),
    )
  }
})

/**
 * A block's trial of all sides, whose CPU is that of the head's ratio to the base.
 * @param {number} block @param {Record<string, number>} success_ratios @param {number} [ratio]
 */
function together(block, success_ratios, ratio = 1) {
  const [base, head] = [100, 100 * ratio]
  const probes = { target: { cpu_us_per_request: [{ base, again: base, head, 'head again': head }] } }
  const how = { traffic: { success_ratio: 1 }, beside: { success_ratios }, outcome: { verdict: 'pass' } }
  return /** @type {any} */ ({ at: { phase: 'together', block }, cell: { side: 'all' }, probes, ...how })
}

/** A trial in turns. @param {number} block @param {string} side @param {number} success_ratio @param {number} cpu_us_per_request */
function turn(block, side, success_ratio, cpu_us_per_request) {
  const traffic = { goodput_rps: 1000, success_ratio }
  const how = { traffic, probes: { api: { cpu_us_per_request } }, outcome: { verdict: 'fail' } }
  return /** @type {any} */ ({ at: { phase: 'cost', block }, cell: { side }, ...how })
}

t.test('a head that fails requests has regressed, however cheap its errors are', async (t) => {
  const good = { base: 1, again: 0.999 }
  const decided = (/** @type {any[]} */ records) => decisionOf(records, 0.02).verdict
  t.equal(decided([0, 1, 2].map((block) => together(block, { ...good, head: 1 }))), 'same or better')
  t.equal(decided([0, 1, 2].map((block) => together(block, { ...good, head: 0.9 }, 0.5))), 'regressed')
  t.equal(decided([0, 1].map((block) => together(block, { ...good, head: 0.9 }, 0.5))), 'undecided', 'too few blocks')
  const second = { ...good, head: 1, 'head again': 0.9 }
  t.equal(decided([0, 1, 2].map((block) => together(block, second, 0.5))), 'regressed', 'its second copy does')
  const inTurns = [0, 1, 2].flatMap((block) => [
    ...['base', 'again'].map((side) => turn(block, side, 1, 100)),
    turn(block, 'head', 0, 20),
  ])
  t.equal(decided(inTurns), 'regressed')
  const allFail = inTurns.map((record) => ({ ...record, traffic: { success_ratio: 0 } }))
  t.equal(decided(allFail), 'undecided', 'a base that fails, too, says nothing of the head')
})

t.test('where the head leaves the base no time as long as all are loaded at once, the turns decide', async (t) => {
  const late = { base: 0.5, again: 0.5, head: 0.4 }
  const records = [0, 1, 2].flatMap((block) => [
    together(block, late, 4),
    ...['base', 'again'].map((side) => turn(block, side, 1, 100 + block / 10)),
    turn(block, 'head', 1, 400),
  ])
  const { criterion, verdict } = decisionOf(records, 0.02)
  t.strictSame([criterion.phase, verdict], ['cost', 'regressed'])
})
