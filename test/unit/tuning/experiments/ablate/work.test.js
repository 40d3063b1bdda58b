import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { timesOf, workBlocks } from '../../../../../tuning/experiments/ablate/speeds.js'
import { nameOf, WHOLE } from '../../../../../tuning/experiments/ablate/stages.js'

const PLAN = { stages: ['log', 'pool'], consumers: ['paced', 'autocannon'] }

/** @param {number} block @param {string} variant @param {number} goodput_rps @param {number} [used] of the generator's core */
const trial = (block, variant, goodput_rps, used = 0.5) => ({
  at: { phase: 'blocks', consumer: 'autocannon', block, position: 0 },
  cell: { variant },
  load: { loop: 'closed' },
  outcome: { verdict: 'pass' },
  traffic: { goodput_rps },
  probes: { generator: { cpu_core_ratio: used } },
})

/** Without the log, the whole is twice as fast; without the pool, the generator is the limit. @param {number} blocks @returns {any[]} */
function recordsOf(blocks) {
  return Array.from({ length: blocks }, (_, block) => [
    trial(block, WHOLE, 2500),
    trial(block, nameOf(['log']), 10_000),
    trial(block, nameOf(['pool']), 20_000, 0.97),
    trial(block, WHOLE, 10_000),
  ]).flat()
}

t.test('the time for a fixed number of requests follows from the trials of each variant', async (t) => {
  const times = timesOf(PLAN, recordsOf(8), 'autocannon')
  const rounded = times.map(({ without, time_s, low, high, isLimited }) => {
    return [without.join('+'), ...[time_s, low, high].map((one) => Number(one.toFixed(9))), isLimited]
  })
  t.strictSame(rounded.slice(0, 3), [
    ['', 2, 2, 2, false],
    ['log', 1, 1, 1, false],
    ['pool', 0.5, 0.5, 0.5, true],
  ])
  t.equal(times.length, 4)
  t.ok(Number.isNaN(times[3].time_s), 'all of them were never removed')
  const [few] = timesOf(PLAN, recordsOf(7), 'autocannon')
  t.equal(few.high, Number.POSITIVE_INFINITY, 'four intervals take eight blocks')
})

t.test('the table of times says what it is computed from, and what is unknown', async (t) => {
  const textOf = (/** @type {number} */ blocks) => {
    const times = timesOf(PLAN, recordsOf(blocks), 'autocannon')
    return markdownOf(workBlocks(/** @type {any} */ ([{ consumer: 'autocannon', times }])))
  }
  const text = textOf(8)
  t.match(text, /## Time for 10,000 requests/)
  t.match(text, /A trial ends after a time, not after a number of requests/)
  t.match(text, /\| removed +\| +autocannon, s \|/)
  t.match(text, /\| nothing +\| +2\.00 \[2\.00–2\.00\] \|/)
  t.match(text, /\| log +\| +1\.00 \[1\.00–1\.00\] \|/)
  t.match(text, /\| pool +\| the generator was the limit \|/)
  t.match(text, /\| all of them \| +– \|/)
  t.match(textOf(7), /\| log +\| +1\.00 \[too few blocks\] \|/)
  t.strictSame(workBlocks([]), [])
})
