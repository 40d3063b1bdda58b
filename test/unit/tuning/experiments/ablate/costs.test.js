import t from 'tap'
import { budgetOf, budgetsOf, CURRENCIES, roundsOf } from '../../../../../tuning/experiments/ablate/budget.js'
import { speedUp } from '../../../../../tuning/experiments/ablate/speeds.js'

const PLAN = { stages: ['log', 'pool'] }
const CELLS = ['whole', 'without log', 'without log+pool', 'without pool']

/** What a turn costs: the whole, log away, both away, pool away. */
const COSTS_US = [100, 80, 50, 65]

/**
 * Trials by turns, of eight rounds in all: as many as the six intervals of two stages take.
 * @param {(round: number) => number[][]} turnsOf of a cell and its CPU time
 * @param {any} [changes]
 */
function byTurns(turnsOf, changes) {
  const round = (/** @type {number} */ i) => turnsOf(i).map(([cell, cpu_us]) => [cell, cpu_us, 2 * cpu_us])
  return /** @type {any[]} */ ([
    [0, 1, 2, 3],
    [4, 5, 6, 7],
  ]).map((rounds, i) => ({
    at: { phase: 'turns', consumer: 'paced', position: i },
    outcome: { verdict: 'pass' },
    probes: { generator: {}, target: { cells: CELLS, rounds: rounds.map(round) } },
    ...changes,
  }))
}

/** Each cell once, and the whole at the start, in the middle and at the end. @param {number} round */
function turns(round) {
  const [whole, ...others] = COSTS_US.map((us, cell) => [cell, us + round])
  // Of the three the one in the middle counts.
  return [[0, whole[1] + 3], ...others.slice(0, 2), whole, ...others.slice(2), [0, whole[1] - 6]]
}

/** @param {{ estimate: number }} figure */
const estimate = (figure) => Number(figure.estimate.toFixed(6))

t.test('a stage costs what its removal saves, within a round', async (t) => {
  const { whole, lines, rest, gap } = budgetOf(PLAN, byTurns(turns), CURRENCIES.cpu)
  t.equal(estimate(whole), 103.5, 'the turn in the middle of each round')
  t.equal(whole.pairs, 8)
  t.strictSame(
    lines.map(({ stage, alone, cost }) => [stage, estimate(alone), estimate(cost)]),
    [
      ['log', 20, 20],
      ['pool', 35, 30],
    ],
    'alone, and when those before it are away already',
  )
  t.ok(lines.every(({ cost }) => Math.abs(cost.low - cost.high) < 1e-9 && cost.pairs === 8))
  t.equal(estimate(rest), 53.5)
  t.equal(estimate(gap), -5, 'what the two save together, less what each saves alone')
})

t.test('time in the service counts as CPU does, where a schedule sets it', async (t) => {
  t.equal(estimate(budgetOf(PLAN, byTurns(turns), CURRENCIES.time).whole), 207)
  const names = (/** @type {string} */ consumer) => Object.keys(budgetsOf({ ...PLAN, consumers: [consumer] }, []))
  t.strictSame(names('paced'), ['cpu', 'time'])
  t.strictSame(names('autocannon'), ['cpu'])
  t.strictSame(
    Object.values(CURRENCIES).map(({ title }) => title),
    ['CPU of the API per request', 'Time in the API per request (mean)'],
  )
})

t.test('a round without a cell is left out where the cell counts', async (t) => {
  const gappy = (/** @type {number} */ round) => turns(round).filter(([cell]) => round > 1 || cell !== 1)
  const { whole, lines } = budgetOf(PLAN, byTurns(gappy), CURRENCIES.cpu)
  t.strictSame([whole.pairs, lines[0].alone.pairs, lines[1].alone.pairs], [8, 6, 8])
  t.equal(estimate(lines[0].cost), 20)
  const none = budgetOf(
    PLAN,
    byTurns(() => []),
    CURRENCIES.cpu,
  )
  t.equal(none.whole.pairs, 0)
  t.same(none.rest.estimate, Number.NaN)
})

t.test('only sound trials by turns count', async (t) => {
  t.equal(roundsOf(byTurns(turns)).length, 8)
  t.strictSame(roundsOf(byTurns(() => [[1, 7]]))[0], new Map([['without log', [[1, 7, 14]]]]))
  t.equal(roundsOf(byTurns(turns, { outcome: { verdict: 'fail' } })).length, 0)
  t.equal(
    roundsOf(byTurns(turns, { at: { phase: 'blocks', consumer: 'autocannon', block: 0, position: 0 } })).length,
    0,
  )
})

t.test('a closed loop turns faster without a stage, as a ratio within a block', async (t) => {
  /** @param {number} block @param {string} cell @param {number} goodput_rps @param {number} [used] of the generator's core */
  const trial = (block, cell, goodput_rps, used = 0.5) => ({
    at: { phase: 'blocks', consumer: 'autocannon', block, position: 0 },
    cell: { variant: cell },
    load: { loop: 'closed' },
    outcome: { verdict: 'pass' },
    traffic: { goodput_rps },
    probes: { generator: { cpu_core_ratio: used } },
  })
  /** @param {[number?, number?]} used */
  const records = ([whole, other] = []) =>
    /** @type {any[]} */ (
      [0, 1, 2, 3, 4, 5].flatMap((block) => [
        trial(block, 'whole', 1000 * 10 ** block, whole),
        trial(block, 'without log', 3000 * 10 ** block, other),
        trial(block, 'whole', 4000 * 10 ** block, whole),
        trial(block, 'without pool', 1, 1),
      ])
    )
  const found = speedUp(records(), 'autocannon', 'without log')
  t.strictSame(
    [found.ratio, found.low, found.high].map((ratio) => Number(ratio.toFixed(9))),
    [1.5, 1.5, 1.5],
    'to the mean of two visits, on logarithms',
  )
  t.strictSame([found.pairs, found.isLimited], [6, false])
  t.equal(
    speedUp(records([0.95, 0.5]), 'autocannon', 'without log').isLimited,
    true,
    'the generator of the whole was full',
  )
  t.equal(speedUp(records([0.5, 0.95]), 'autocannon', 'without log').isLimited, true, 'that of the cell was')
  t.equal(speedUp(records(), 'client', 'without log').pairs, 0, 'another consumer')
  const partial = records().filter(({ cell, at }) => cell.variant !== 'without log' || at.block !== 3)
  t.equal(speedUp(partial, 'autocannon', 'without log').pairs, 5, 'a block without the cell')
})
