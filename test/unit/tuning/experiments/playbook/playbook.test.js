import { readFileSync } from 'node:fs'
import t from 'tap'
import { cellName } from '../../../../../load/report/format.js'
import { CLAIMS } from '../../../../../tuning/experiments/playbook/claims.js'
import { design } from '../../../../../tuning/experiments/playbook/design.js'
import { EXPERIMENTS } from '../../../../../tuning/experiments/playbook/experiments.js'
import { looksOf, resultOf } from '../../../../../tuning/experiments/playbook/results.js'
import { KNOBS } from '../../../../../tuning/knobs/knobs.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

const PAGE = readFileSync('tuning/PLAYBOOK.md', 'utf8')

t.test('claims are whole: an experiment, an effect of interest, a chapter of the page', async (t) => {
  t.ok(CLAIMS.length >= 15)
  t.equal(new Set(CLAIMS.map(({ id }) => id)).size, CLAIMS.length)
  for (const { id, chapter, experiment, least_ratio } of CLAIMS) {
    t.match(PAGE, `<!-- ${chapter} -->`)
    t.ok(experiment in EXPERIMENTS, id)
    t.ok(least_ratio > 1, id)
  }
  for (const [name, { cells }] of Object.entries(EXPERIMENTS)) {
    t.ok(
      CLAIMS.some(({ experiment }) => experiment === name),
      `${name} is claimed about`,
    )
    const levels = cells.flatMap((cell) => Object.entries(cell))
    t.ok(levels.length > 0, name)
    t.strictSame(
      levels.filter(([knob, level]) => KNOBS[knob].parse(String(level)) !== level),
      [],
      name,
    )
  }
})

const plan = /** @type {any} */ ({
  claims: CLAIMS.map(({ id }) => id),
  experiments: ['batched', 'shedding'],
  ...{ blocks: 6, most_blocks: 6 },
  mix: { seed: 4 },
})

/** @param {(record: any) => any} [change] */
function runOf(change) {
  return recordsOf(plan, design, createService({ capacity_rps: 500 }), { change })
}

t.test('both cells in every block, the order drawn; a share is one of what the reference takes', async (t) => {
  const records = runOf()
  t.equal(records.length, 12 + 1 + 12)
  const firsts = [0, 1, 2, 3, 4, 5].map((block) =>
    cellName(records.find(({ at }) => at.experiment === 'batched' && at.block === block && at.position === 0).cell),
  )
  t.equal(new Set(firsts).size, 2, 'either comes first somewhere')
  const shed = records.filter(({ at }) => at.experiment === 'shedding' && at.phase === 'block')
  t.ok(shed.length > 0 && shed.every(({ load }) => load.rate_rps === 1000))
  const again = records.slice(0, 7)
  t.match(design(plan, again, []), { at: records[7].at, cell: records[7].cell }, 'goes on where it was cut off')
})

t.test(
  'invalid trials are repeated once, and never counted; a cell that cannot be had ends its experiment',
  async (t) => {
    const records = runOf((record) => ({ ...record, outcome: { verdict: 'invalid', blame: 'noise' } }))
    t.equal(records.length, 24 + 2)
    const claim = CLAIMS.find(({ id }) => id === 'batched-takes-more')
    t.match(resultOf(/** @type {any} */ (claim), plan, records), { verdict: 'not measured' })
    const [reference] = EXPERIMENTS.batched.cells
    const step = design(plan, [], [{ cell: reference, because: 'no' }])
    t.match(step, { at: { phase: 'peak', experiment: 'shedding' } })
  },
)

t.test('a claim that its blocks leave undecided gets more, which decide; others do not', async (t) => {
  const ratios = [3, 1, 3, 1, 3, 1]
  const longer = { ...plan, experiments: ['batched', 'node'], most_blocks: 18 }
  const records = recordsOf(longer, design, createService({ capacity_rps: 500 }), {
    change: (record) => {
      const { at, cell, traffic, probes } = record
      const ratio = cell.INSERT_MODE === 'batched' ? (at.block < 6 ? ratios[at.block] : 3) : 1
      const cpu_us_per_request = cell.NODE === 20 ? 100 : 50
      const goodput_rps = 100 * ratio
      return { ...record, traffic: { ...traffic, goodput_rps }, probes: { api: { ...probes.api, cpu_us_per_request } } }
    },
  })
  const numberOf = (/** @type {string} */ experiment) => records.filter(({ at }) => at.experiment === experiment).length
  t.equal(numberOf('batched'), 18 * 2)
  t.equal(numberOf('node'), 6 * 3)
  t.equal(records[12].at.experiment, 'node', 'more blocks come last')
  const [goodput, cpu24, cpu26] = ['batched-takes-more', 'node-24-costs-less', 'node-26-costs-less'].map((id) => {
    return resultOf(/** @type {any} */ (CLAIMS.find((claim) => claim.id === id)), longer, records)
  })
  t.match(goodput, { verdict: 'reproduced', effect: { pairs: 18 } })
  t.match(cpu24, { verdict: 'reproduced', turned: { from: { NODE: 20 }, to: { NODE: 24 } } })
  t.match(cpu26, { verdict: 'reproduced', turned: { from: { NODE: 20 }, to: { NODE: 26 } } })
  const first = records.filter(({ at }) => at.block < 6)
  const before = resultOf(/** @type {any} */ (CLAIMS.find(({ id }) => id === 'batched-takes-more')), longer, first)
  t.equal(before.verdict, 'undecided')
  const { low, high } = goodput.effect
  const alone = resultOf(
    /** @type {any} */ (CLAIMS.find(({ id }) => id === 'batched-takes-more')),
    { blocks: 18, most_blocks: 18 },
    records,
  )
  t.ok(low <= alone.effect.low && high >= alone.effect.high, 'two looks share the error of one')
})

t.test('a claim is looked at three times, and gets no more blocks once it is decided', async (t) => {
  const longest = { ...plan, experiments: ['batched'], most_blocks: 36 }
  const [first, second, third] = looksOf(longest)
  t.strictSame(
    [first, second, third].map(({ blocks }) => blocks),
    [6, 18, 36],
  )
  const errors = [first, second, third].map(({ confidence }) => 1 - confidence)
  t.ok(errors.reduce((sum, error) => sum + error, 0) <= 0.0501, 'all looks together err as often as one of 95 %')
  const blocksUntil = (/** @type {number} */ from) => {
    const records = recordsOf(longest, design, createService({ capacity_rps: 500 }), {
      change: (record) => {
        const { at, cell, traffic } = record
        const isClear = Number(at.block) >= from || Number(at.block) % 2 === 0
        const goodput_rps = cell.INSERT_MODE === 'batched' && isClear ? 300 : 100
        return { ...record, traffic: { ...traffic, goodput_rps } }
      },
    })
    return records.length / 2
  }
  t.strictSame([0, 6, 36].map(blocksUntil), [6, 18, 36])
})
