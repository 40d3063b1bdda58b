import t from 'tap'
import { NotApplied } from '../../../load/command/errors.js'
import { findHaproxy } from '../../../tuning/experiments/balance/haproxy.js'
import { pinningText } from '../../../tuning/experiments/balance/open.js'
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

t.test('the report says what was pinned where', async (t) => {
  const cores = { api: '0', others: '1' }
  t.match(
    pinningText(cores, false),
    /^The balancer ran on core 0 alone, the endpoints, the generator and the lab on core 1\.$/,
  )
  t.match(pinningText(cores, true), /HAProxy was not pinned/)
  t.match(pinningText(null, true), /^Nothing was pinned: this system has one core/)
})
