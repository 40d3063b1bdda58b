import t from 'tap'
import { problemOf } from '../../../../../tuning/experiments/ablate/report.js'
import { BY_TURNS, nameOf, variantsOf, WHOLE } from '../../../../../tuning/experiments/ablate/stages.js'
import { consumed, nextStep, takenByTurns } from '../../../../../tuning/experiments/ablate/steps.js'
import { PLAN, runOf, THREE, textOf } from '../../../../support/made-up/ablate.js'

t.test(
  'the budget comes by turns, then every block has every variant, and a run goes on where it was cut off',
  async (t) => {
    const records = runOf({ plan: THREE })
    const places = records.slice(0, 5).map(({ at, cell }) => [at.phase, at.consumer, cell.variant])
    t.strictSame(places, [
      ['first', 'paced', BY_TURNS],
      ['turns', 'paced', BY_TURNS],
      ['turns', 'paced', BY_TURNS],
      ['first', 'autocannon', WHOLE],
      ['first', 'client', WHOLE],
    ])
    const own = (/** @type {number} */ block, consumer = 'autocannon') => {
      const trials = records.filter(({ at }) => {
        return at.phase === 'blocks' && at.consumer === consumer && at.block === block
      })
      return trials.map(({ cell }) => cell.variant)
    }
    const cells = variantsOf(PLAN.stages).map(nameOf)
    t.equal(cells.length, 14, 'the first of the cumulative ones is a single one')
    for (const block of [0, 7]) t.strictSame([...new Set(own(block))].sort(), [...cells].sort())
    t.notSame(own(0), own(1))
    t.equal(own(0).filter((cell) => cell === WHOLE).length, 3)
    t.strictSame(own(0, 'client'), own(0), 'at the same places for each consumer')
    t.strictSame(own(0, 'paced'), [])
    for (const length of [0, 1, 2, 17, records.length - 1]) {
      t.match(nextStep({ ...THREE, mix: { seed: 1 } }, records.slice(0, length)), {
        at: records[length].at,
        cell: records[length].cell,
      })
    }
    const lost = records.map((record) => ({ ...record, outcome: { verdict: 'invalid' } }))
    t.equal(nextStep(THREE, [...lost, ...lost]), null, 'what stays invalid is given up')
  },
)

t.test('rounds are about as many as were asked for, at any rate', async (t) => {
  for (const rate_rps of [100, 3000, 20_000]) {
    const plan = { ...PLAN, consumers: ['paced'], rate_rps, rounds: 100 }
    const trials = runOf({ plan }).filter(({ at }) => at.phase === 'turns')
    const seconds = trials.reduce((sum, { load }) => sum + load.duration_s, 0)
    const rounds = (seconds * rate_rps) / (16 * 110)
    t.ok(rounds >= 100 && rounds < 140, `${rounds} at ${rate_rps}/s in ${trials.length} trials`)
  }
})

t.test('a cell that could not be had is asked for no more, and the run says so', async (t) => {
  const notApplied = [{ cell: { variant: 'without pool' }, because: 'no hook' }]
  const records = runOf()
  const others = records.filter(({ cell }) => cell.variant !== 'without pool')
  t.equal(nextStep(PLAN, others, notApplied), null)
  t.match(nextStep(PLAN, others), { cell: { variant: 'without pool' } })
  t.equal(problemOf(PLAN, others, notApplied), null, 'the budget is there')
  const closed = records.filter(({ cell }) => cell.variant !== BY_TURNS)
  t.match(
    problemOf(PLAN, closed, [{ cell: { variant: BY_TURNS }, because: 'no hook' }]),
    /^no valid round of turns with paced: no hook$/,
  )
})

t.test('trials in which requests failed or the generator was late do not count', async (t) => {
  const failing = runOf().map((record) => ({ ...record, outcome: { verdict: 'fail', because: '1 of 2 succeeded' } }))
  t.strictSame([...takenByTurns(failing), ...consumed(failing, 'autocannon')], [])
  t.match(problemOf(PLAN, failing, []), /no valid round of turns with paced: 1 of 2 succeeded/)
  t.equal(nextStep(PLAN, failing), null, 'and are not repeated')
  const late = (/** @type {number} */ p50) => {
    return runOf().map((record) => ({
      ...record,
      probes: { ...record.probes, generator: { lateness_ms: { p50, p95: 5 } } },
    }))
  }
  t.equal(takenByTurns(late(0.6)).length, takenByTurns(runOf()).length)
  t.strictSame(takenByTurns(late(3)), [])
  t.match(problemOf(PLAN, late(3), []), /the generator was 3 ms late at p50/)
  t.match(
    nextStep(PLAN, late(3)),
    { at: { phase: 'first', consumer: 'paced' }, cell: { variant: BY_TURNS } },
    'another try',
  )
  t.match(textOf(PLAN, failing), /130 of 130 trials were left out: requests failed in 130/)
})
