import t from 'tap'
import { matrixVisits, nextTrial, peakOf, trialsAt } from '../../../../tuning/stats/matrix.js'

/** @import { Matrix } from '../../../../tuning/stats/matrix.js' */

const LOAD = /** @type {const} */ ({
  driver: 'paced',
  loop: 'open',
  rate_rps: 10,
  connections: 1,
  warmup_s: 0,
  duration_s: 1,
})

/** Two cells in two blocks, the first of them the anchor. @param {Partial<Matrix>} [changes] @returns {Matrix} */
function matrix(changes) {
  const units = [{ cell: { POOL_MAX: 5 } }, { cell: { POOL_MAX: 20 } }]
  const visits = matrixVisits({ units, anchor: units[0], blocks: 2, seed: 1 })
  return { visits, kinds: ['closed', 'open'], visit_s: 10, loadOf: () => LOAD, ...changes }
}

/**
 * Every trial of a matrix.
 * @param {Matrix} design
 * @param {{ verdictOf?: (record: any) => string, notApplied?: any[] }} [options]
 */
function runOf(design, { verdictOf = () => 'pass', notApplied = [] } = {}) {
  /** @type {any[]} */
  const records = []
  for (let step = nextTrial(design, records, notApplied); step; step = nextTrial(design, records, notApplied)) {
    records.push({ ...step, outcome: { verdict: verdictOf(step) } })
    if (records.length > 100) throw new Error('the design goes on and on')
  }
  return records
}

t.test('a trial of each kind in each visit, the anchor three times a block', async (t) => {
  const records = runOf(matrix())
  t.equal(records.length, 16)
  t.strictSame(
    records.slice(0, 6).map(({ at, cell }) => [at, cell.POOL_MAX]),
    [5, 20, 5].flatMap((POOL_MAX, position) =>
      ['closed', 'open'].map((kind) => [{ phase: 'block', block: 0, position, kind }, POOL_MAX]),
    ),
  )
  t.strictSame([records[0].left_s, records[15].left_s], [80, 10])
  t.equal(runOf(matrix({ later_s: 7 }))[15].left_s, 17)
})

t.test('a place is given up after two tries, or as many as the design says', async (t) => {
  const verdictOf = (/** @type {any} */ { at }) => (at.kind === 'open' ? 'invalid' : 'pass')
  t.equal(runOf(matrix(), { verdictOf }).length, 8 + 2 * 8)
  t.equal(runOf(matrix({ tries: 3 }), { verdictOf }).length, 8 + 3 * 8)
  t.equal(runOf(matrix({ counts: () => true }), { verdictOf }).length, 16, 'where all trials count')
  const peak = { cell: { POOL_MAX: 5 }, load: LOAD }
  t.equal(runOf(matrix({ peak, tries: 3 }), { verdictOf: () => 'invalid' }).length, 3, 'the peak, too')
})

t.test('a cell that is not applied is left out, and so is a kind that a cell has no load for', async (t) => {
  const applied = runOf(matrix(), { notApplied: [{ cell: { POOL_MAX: 20 }, because: 'no' }] })
  t.strictSame([...new Set(applied.map(({ cell }) => cell.POOL_MAX))], [5])
  const partly = runOf(matrix({ loadOf: ({ cell }, kind) => (kind === 'open' && cell.POOL_MAX === 20 ? null : LOAD) }))
  t.equal(partly.length, 16 - 2)
})

t.test('a load may depend on the trials of the same visit', async (t) => {
  const records = runOf(matrix({ loadOf: (_, __, own) => ({ ...LOAD, rate_rps: own('closed').length }) }))
  const open = trialsAt(records, { kind: 'open' })
  t.equal(open.length, 8)
  t.ok(open.every(({ load }) => load.rate_rps === 1))
})

t.test('trials are found by their place; the peak is the first that counts', async (t) => {
  const peak = (/** @type {string} */ verdict, /** @type {number} */ goodput_rps) => {
    return { at: { phase: 'peak' }, outcome: { verdict }, traffic: { goodput_rps } }
  }
  const records = /** @type {any[]} */ ([peak('invalid', 1), peak('pass', 2), peak('pass', 3), ...runOf(matrix())])
  t.equal(peakOf(records), 2)
  t.equal(peakOf(records.slice(3)), null)
  t.equal(trialsAt(records).length, 16)
  t.equal(trialsAt(records, { block: 1, kind: 'open' }).length, 4)
  t.equal(trialsAt(records, {}, () => false).length, 0)
})

t.test('each visit starts the target anew if the matrix says so, and a repeated trial does not', async (t) => {
  const verdictOf = (/** @type {any} */ { at }) => (at.kind === 'closed' ? 'invalid' : 'pass')
  const records = runOf(matrix({ restarts: true }), { verdictOf })
  t.strictSame(
    records.slice(0, 6).map(({ at, restart }) => [at.position, at.kind, restart === true]),
    [0, 1].flatMap((position) => [
      [position, 'closed', true],
      [position, 'closed', false],
      [position, 'open', false],
    ]),
  )
  t.notOk(runOf(matrix()).some(({ restart }) => restart))
})

t.test('a trial of another cell at the same place, as an older version drew it, does not settle it', async (t) => {
  const [first] = runOf(matrix())
  const others = [
    { ...first, cell: { POOL_MAX: 20 } },
    { ...first, cell: { POOL_MAX: 20 } },
  ]
  t.strictSame(nextTrial(matrix(), others, [])?.cell, { POOL_MAX: 5 })
})
