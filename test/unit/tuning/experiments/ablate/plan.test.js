import t from 'tap'
import { ablate, planOf } from '../../../../../tuning/experiments/ablate/ablate.js'
import { budgetConfidence } from '../../../../../tuning/experiments/ablate/budget.js'
import { speedConfidence } from '../../../../../tuning/experiments/ablate/speeds.js'
import { durationOf } from '../../../../../tuning/experiments/ablate/steps.js'
import { leastPairs } from '../../../../../tuning/stats/effects.js'
import { refuses } from '../../../../support/refusals.js'

t.test('a short run is short, and a wait is planted where it is one request alone that waits', async (t) => {
  t.ok(durationOf(planOf({ quick: true })) < 110, String(durationOf(planOf({ quick: true }))))
  const slow = { database: 20 }
  t.throws(
    () => planOf({ slow: { pool: 20 } }, { INSERT_MODE: 'batched' }),
    /--slow: expected a stage that requests do not share with batched, got pool/,
  )
  t.throws(() => planOf({ slow }, { INSERT_MODE: 'batched' }), /with batched, got database/)
  t.match(planOf({ slow }, { INSERT_MODE: 'single' }), { slow_us: slow, insert_mode: 'single' })
  t.match(planOf({ slow: { validate: 20 } }, { INSERT_MODE: 'batched' }), { slow_us: { validate: 20 }, rounds: 300 })
  t.match(planOf({ slow, turns: 7 }, { INSERT_MODE: 'single' }), { rounds: 7 })
})

t.test('a command line that makes no sense is refused with one line', async (t) => {
  /** @type {[string[], RegExp][]} */
  const wrong = [
    [['--stages', 'log,everything'], /--stages: expected some of log,validate/],
    [['--consumers', 'paced,slow'], /--consumers: expected some of paced,autocannon,client/],
    [['--slow', 'validate=20'], /--slow: expected a stage .* got "validate=20"/],
    [['--slow', 'log=20us', '--stages', 'pool'], /--slow: expected one of --stages, got log/],
  ]
  await refuses(t, { ablate }, wrong)
  t.strictSame(ablate.flags.consumers.parse?.('paced,client,paced'), ['paced', 'client'], 'each counts once')
})

t.test('a run has the rounds and the blocks that its confidence takes, and a short one has the rounds', async (t) => {
  const [usual, short] = [planOf({}), planOf({ quick: true })]
  t.strictSame([budgetConfidence(usual), speedConfidence(usual)].map(leastPairs), [10, 10], '16 intervals each')
  t.ok(usual.rounds > 10 && usual.blocks > 10)
  t.ok(short.rounds > 10)
  const one = planOf({ stages: ['log'], consumers: ['autocannon'] })
  t.strictSame([budgetConfidence(one), speedConfidence(one)].map(leastPairs), [8, 6], 'four intervals, and one')
  t.equal(speedConfidence(planOf({ consumers: ['paced', 'autocannon'] })), 1 - (1 - 0.95) / 8, 'an open loop has none')
})
