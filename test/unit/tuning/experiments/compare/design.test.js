import t from 'tap'
import { design } from '../../../../../tuning/experiments/compare/design.js'
import { findingsOf, PLAN, runOf } from '../../../../support/made-up/compare.js'

/** Of A and of B. @param {any[]} records @returns {any[]} */
const maximaOf = (records) => findingsOf(records).sides.map((/** @type {any} */ { maxima }) => maxima)

t.test('a ladder of which a rung could not be had has no maximum', async (t) => {
  const invalid = (/** @type {any} */ { at, cell, load }) => {
    return cell.side === 'a' && at.phase === 'maximum' && [0, 2].includes(at.block) && load.connections === 20
  }
  const records = runOf({ invalid, noise: 0 })
  t.strictSame(
    maximaOf(records)[0].map((/** @type {any} */ { block }) => block),
    [1, 3, 4, 5, 6, 7, 8, 9],
  )
  t.equal(findingsOf(records).differences[3].pairs, 8)
  const cutOff = records.slice(
    0,
    records.findLastIndex(({ at }) => at.phase === 'maximum'),
  )
  t.equal(maximaOf(cutOff).flat().length, 17, 'nor one that was cut off')
})

t.test('if the lab cannot do the last rung of most ladders, the best one below is a lower bound', async (t) => {
  const isLast = (/** @type {any} */ { at, load }) => at.phase === 'maximum' && load.connections === 20
  const below = [500, 500 * 0.9]
  for (const [blocks, sides] of /** @type {[number, string[]][]} */ ([
    [10, ['a']],
    [6, ['a', 'b']],
  ])) {
    const invalid = (/** @type {any} */ step) =>
      isLast(step) && step.at.block < blocks && sides.includes(step.cell.side)
    const findings = findingsOf(runOf({ invalid, noise: 0 }))
    const because = 'with 20 workers, no trial was valid: made up'
    t.strictSame(
      findings.sides.map((/** @type {any} */ { bound }) => bound?.because),
      ['a', 'b'].map((side) => (sides.includes(side) ? because : undefined)),
    )
    const { rps } = findings.sides[0].bound
    t.ok(rps <= below[0] && rps > below[1], `${rps}: 10 workers at 50/s`)
    const expected = sides.map((side) => `${side.toUpperCase()}: ${because}`).join('; ')
    t.match(findings.differences[3], { because: expected, ratio: Number.NaN })
  }
  const first = runOf({ invalid: (/** @type {any} */ { at }) => at.phase === 'maximum', noise: 0 })
  t.strictSame(maximaOf(first), [[], []], 'without any valid rung there is no bound')
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf({})
  for (const length of [0, 1, 7, 33, records.length - 1]) {
    const { at, cell } = records[length]
    t.match(design(PLAN, records.slice(0, length)), { at, cell })
  }
})

t.test('a side that stops answering ends the comparison, and is the reason for no answer', async (t) => {
  const records = runOf({}).slice(0, 40)
  const silenced = (/** @type {number} */ trials, about = {}) => {
    const silent = records.filter(({ cell }) => cell.side === 'b').slice(-trials)
    return records.map((record) => {
      if (!silent.includes(record)) return record
      return {
        ...record,
        traffic: { ...record.traffic, ok: 0, ...about },
        outcome: { verdict: 'fail', because: 'refused' },
      }
    })
  }
  t.equal(design(PLAN, silenced(4)), null)
  const problem = 'B stopped answering: no request of its last 4 trials succeeded (refused)'
  t.equal(findingsOf(silenced(4)).problem, problem)
  t.ok(design(PLAN, silenced(3)), 'three may be chance')
  const { completed } = records[0].traffic
  t.ok(design(PLAN, silenced(4, { status: { 429: completed } })), 'one that refuses requests answers')
})
