import t from 'tap'
import { median } from '../../../../../load/verdict/ranks.js'
import { budgetOf, CURRENCIES } from '../../../../../tuning/experiments/ablate/budget.js'
import { conclusionOf, verdictOf } from '../../../../../tuning/experiments/ablate/budget-report.js'
import { analyse } from '../../../../../tuning/experiments/ablate/report.js'
import { nameOf, STAGE_NAMES } from '../../../../../tuning/experiments/ablate/stages.js'
import { copyOf, PLAN, runOf, textOf } from '../../../../support/made-up/ablate.js'
import { COSTS_US, REST_US, SUM_US } from '../../../../support/simulated/stages.js'

/** @param {ReturnType<typeof budgetOf>} budget */
const sumOf = ({ lines, rest }) => lines.reduce((sum, { cost }) => sum + cost.estimate, rest.estimate)

/** @param {{ low: number, high: number }} figure @param {number} truth_us */
const holds = ({ low, high }, truth_us) => low <= truth_us && truth_us <= high

/** Turns alone, without the closed loops, of which the budget takes nothing. */
const PACED = { ...PLAN, consumers: ['paced'] }

t.test('without noise each stage costs what it costs, and the budget adds up to the whole', async (t) => {
  const budget = budgetOf(PLAN, runOf({ noise: 0, drift: 0 }), CURRENCIES.cpu)
  const { whole, lines, rest, gap } = budget
  const near = (/** @type {number} */ a, /** @type {number} */ b) => Math.abs(a - b) < 1e-6
  t.equal(lines.length, Object.keys(COSTS_US).length)
  for (const { stage, cost, alone } of lines) {
    t.ok(near(cost.estimate, COSTS_US[stage]) && near(alone.estimate, COSTS_US[stage]), stage)
  }
  t.ok(near(rest.estimate, REST_US) && near(whole.estimate, SUM_US) && near(sumOf(budget), SUM_US))
  t.ok(near(gap.estimate, 0))
})

t.test('what two stages share is a gap that is shown, and the budget adds up all the same', async (t) => {
  const budget = budgetOf(PLAN, runOf({ noise: 0, drift: 0, shared_us: 12 }), CURRENCIES.cpu)
  t.ok(Math.abs(sumOf(budget) - budget.whole.estimate) < 1e-6)
  t.ok(Math.abs(budget.gap.estimate - 12) < 1e-6, 'neither of them saves it alone')
})

t.test('the intervals hold the truth in 19 of 20 runs', async (t) => {
  const budgets = Array.from({ length: 50 }, (_, seed) => {
    return budgetOf(PLAN, runOf({ plan: PACED, seed, drift: 0 }), CURRENCIES.cpu)
  })
  t.ok(budgets.every(({ whole, lines }) => Number.isFinite(whole.high) && lines.length === 7))
  const holding = budgets.filter(({ whole, lines, rest }) => {
    const right = lines.filter(({ stage, cost, alone }) => [cost, alone].every((one) => holds(one, COSTS_US[stage])))
    return right.length === lines.length && holds(whole, SUM_US) && holds(rest, REST_US)
  })
  // 95 %, less three standard errors of 50 runs.
  t.ok(holding.length >= 43, `in ${holding.length} of 50 runs, all intervals of the table hold`)
  const misses = budgets.map((budget) => Math.abs(sumOf(budget) / budget.whole.estimate - 1))
  t.ok(median(misses) < 0.02, `${median(misses)} of the whole`)
})

t.test('nothing is found where there is nothing, and what is large is found', async (t) => {
  const budgets = Array.from({ length: 30 }, (_, seed) => budgetOf(PLAN, runOf({ plan: PACED, seed }), CURRENCIES.cpu))
  const worth = (/** @type {string} */ stage) => {
    return budgets.filter((budget) => {
      const line = budget.lines.find((one) => one.stage === stage)
      return line && verdictOf(line, budget) === 'worth changing'
    }).length
  }
  t.strictSame([worth('validate'), worth('commit')], [0, 0])
  t.equal(worth('database'), 30)
})

t.test('a stage made slower by 20 us on purpose is found as 20 +- 5 us', async (t) => {
  const plan = { ...PACED, stages: ['validate'], slow_us: { validate: 20 } }
  const found = Array.from({ length: 30 }, (_, seed) => budgetOf(plan, runOf({ plan, seed }), CURRENCIES.cpu))
  const right = found.filter(({ lines: [line] }) => Math.abs(line.cost.estimate - 20) <= 5)
  t.ok(right.length >= 28, `${right.length} of 30`)
  t.match(textOf(plan, runOf({ plan })), /Planted on purpose: 20 us of CPU in validate, a part of its cost/)
})

t.test('what was not measured, or in too few rounds, is not settled', async (t) => {
  const without = (/** @type {string} */ cell) => {
    const records = copyOf(runOf())
    for (const { probes } of records) {
      const { cells, rounds } = probes.target ?? { cells: [], rounds: [] }
      const kept = rounds.map((/** @type {number[][]} */ round) => round.filter(([i]) => cells[i] !== cell))
      Object.assign(probes, { target: { cells, rounds: kept } })
    }
    return conclusionOf(budgetOf(PLAN, records, CURRENCIES.cpu))
  }
  t.match(without('without log+validate'), /not settled: (?:.*, )?validate, read-and-parse/)
  t.notMatch(without(nameOf(STAGE_NAMES)), /NaN|the rest/)
  const records = copyOf(runOf())
  for (const { probes } of records) probes.target?.rounds.splice(2)
  const few = conclusionOf(budgetOf(PLAN, records, CURRENCIES.cpu))
  t.match(few, / us\. No stage is certainly worth changing; not settled: log, .*, headers; the rest/)
})

t.test('the time in the API is that of a schedule', async (t) => {
  const closed = { ...PLAN, consumers: ['autocannon'] }
  t.strictSame(Object.keys(analyse(closed, runOf({ plan: closed }), {}).budgets), ['cpu'])
  t.notMatch(textOf(closed, runOf({ plan: closed })), 'Time in the API per request')
  const { time } = analyse(PLAN, runOf({ noise: 0, drift: 0 }), {}).budgets
  t.ok(Math.abs(time.whole.estimate - 2 * SUM_US) < 1e-6)
})
