import { readFileSync } from 'node:fs'
import t from 'tap'
import { CHAPTERS, CLAIMS } from '../../../../../tuning/experiments/playbook/claims.js'
import { EXPERIMENTS } from '../../../../../tuning/experiments/playbook/experiments.js'
import { cellsOf, nextStep } from '../../../../../tuning/experiments/playbook/steps.js'
import { resultOf, verdictOf } from '../../../../../tuning/experiments/playbook/verdict.js'
import { KNOBS } from '../../../../../tuning/knobs/knobs.js'
import { levelsOf } from '../../../../../tuning/stats/design.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

const PAGE = readFileSync('tuning/PLAYBOOK.md', 'utf8')

t.test('claims are whole: an experiment, an effect of interest, a chapter of the page', async (t) => {
  t.ok(CLAIMS.length >= 15)
  t.equal(new Set(CLAIMS.map(({ id }) => id)).size, CLAIMS.length)
  const inChapters = Object.values(CHAPTERS).flat()
  t.strictSame([...inChapters].sort(), CLAIMS.map(({ id }) => id).sort(), 'each claim in one chapter')
  for (const { id, experiment, least_ratio } of CLAIMS) {
    t.ok(experiment in EXPERIMENTS, id)
    t.ok(least_ratio > 1, id)
  }
  for (const name of Object.keys(EXPERIMENTS)) {
    t.ok(
      CLAIMS.some(({ experiment }) => experiment === name),
      `${name} is claimed about`,
    )
    const levels = cellsOf(name).flatMap((cell) => Object.entries(levelsOf(cell)))
    t.strictSame(
      levels.filter(([knob, level]) => KNOBS[knob].parse(String(level)) === undefined),
      [],
      name,
    )
  }
  for (const chapter of Object.keys(CHAPTERS)) t.match(PAGE, `<!-- ${chapter} -->`)
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

const plan = /** @type {any} */ ({ experiments: ['batched', 'shedding'], blocks: 6, mix: { seed: 4 } })

/** @param {(record: any) => any} [change] */
function runOf(change) {
  return recordsOf(plan, nextStep, createService({ capacity_rps: 500 }), { change })
}

t.test('both cells in every block, the order drawn; a share is one of what the reference takes', async (t) => {
  const records = runOf()
  t.equal(records.length, 12 + 1 + 12)
  const firsts = [0, 1, 2, 3, 4, 5].map(
    (block) => records.find(({ experiment }) => experiment === `batched/${block}/0`).cell,
  )
  t.equal(new Set(firsts).size, 2, 'either comes first somewhere')
  const shed = records.filter(({ experiment }) => /^shedding\/\d/.test(experiment))
  t.ok(shed.every(({ load }) => load.rate_rps === 1000))
  const again = records.slice(0, 7)
  t.match(
    nextStep(plan, again, []),
    { experiment: records[7].experiment, cell: records[7].cell },
    'goes on where it was cut off',
  )
})

t.test(
  'invalid trials are repeated once, and never counted; a cell that cannot be had ends its experiment',
  async (t) => {
    const records = runOf((record) => ({ ...record, outcome: { verdict: 'invalid', blame: 'noise' } }))
    t.equal(records.length, 24 + 2)
    const claim = CLAIMS.find(({ id }) => id === 'batched-takes-more')
    t.match(resultOf(/** @type {any} */ (claim), records), { verdict: 'not measured' })
    const [reference] = cellsOf('batched')
    const step = nextStep(plan, [], [{ cell: reference, because: 'no' }])
    t.match(step, { experiment: 'shedding/peak' })
  },
)
