import { readFileSync } from 'node:fs'
import t from 'tap'
import { cellName } from '../../../../../load/report/format.js'
import { CLAIMS } from '../../../../../tuning/experiments/playbook/claims.js'
import { design, EXPERIMENTS } from '../../../../../tuning/experiments/playbook/experiments.js'
import { resultOf } from '../../../../../tuning/experiments/playbook/playbook.js'
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
    t.strictSame(
      levels.filter(([knob, level]) => KNOBS[knob].parse(String(level)) !== level),
      [],
      name,
    )
  }
})

const plan = /** @type {any} */ ({ experiments: ['batched', 'shedding'], blocks: 6, mix: { seed: 4 } })

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
  t.ok(shed.every(({ load }) => load.rate_rps === 1000))
  const again = records.slice(0, 7)
  t.match(design(plan, again, []), { at: records[7].at, cell: records[7].cell }, 'goes on where it was cut off')
})

t.test(
  'invalid trials are repeated once, and never counted; a cell that cannot be had ends its experiment',
  async (t) => {
    const records = runOf((record) => ({ ...record, outcome: { verdict: 'invalid', blame: 'noise' } }))
    t.equal(records.length, 24 + 2)
    const claim = CLAIMS.find(({ id }) => id === 'batched-takes-more')
    t.match(resultOf(/** @type {any} */ (claim), records), { verdict: 'not measured' })
    const [reference] = EXPERIMENTS.batched.cells
    const step = design(plan, [], [{ cell: reference, because: 'no' }])
    t.match(step, { at: { phase: 'peak', experiment: 'shedding' } })
  },
)
