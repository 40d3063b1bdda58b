import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import { findHaproxy } from '../../../tuning/experiments/balance/haproxy.js'
import { pinningText } from '../../../tuning/experiments/balance/open.js'
import { planOf } from '../../../tuning/experiments/balance/plan.js'
import { findPgbouncer } from '../../../tuning/knobs/pgbouncer.js'

t.test('without PgBouncer the cell is not applied, and says how to get it', async (t) => {
  const message = 'expected pgbouncer on PATH, found none; sudo apt-get install pgbouncer installs it'
  t.throws(() => findPgbouncer(['/nowhere/pgbouncer']), new NotApplied(message))
})

t.test('where there is no HAProxy it is left out, and the plan says why', async (t) => {
  t.strictSame(findHaproxy('/nowhere/haproxy'), {
    program: null,
    version: null,
    problem: 'expected haproxy at /nowhere/haproxy, found none; sudo apt-get install haproxy installs it',
  })
})

t.test('a plan that would measure timeouts or the wait for a connection is refused', async (t) => {
  const plan = (/** @type {any} */ flags) => () => planOf({ haproxy: '/nowhere', ...flags })
  t.throws(plan({ slow: { count: 1, extra_ms: 20_000 } }), /--slow: expected less than 9400ms, .* got 20000ms/)
  t.throws(plan({ rate: 2000 }), /--rate: expected at most 256 requests in flight, got \d+ \(strategies: 2000\/s/)
  t.throws(plan({ rate: 500 }), /\(crowded: 1250\/s/)
  t.equal(plan({ rate: 2000, only: ['overhead'] })().sizes.strategies.rate_rps, 2000)
  t.equal(plan({ rate: 200 })().sizes.crowded.rate_rps, 500)
  t.equal(plan({ slow: { count: 1, extra_ms: 5000 } })().slow.extra_ms, 5000)
})

t.test('the report says what was pinned where', async (t) => {
  const cores = { api: '0', others: '1' }
  t.match(
    pinningText(cores, false),
    /^The balancer ran on core 0 alone, the endpoints, the generator and the lab on core 1\.$/,
  )
  t.match(pinningText(cores, true), /HAProxy was not pinned/)
  t.match(pinningText(null, true), /^Nothing was pinned: this system has one core/)
})
