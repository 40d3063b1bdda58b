import t from 'tap'
import { isValid } from '../../../load/capacity/ladder.js'
import { cellName } from '../../../load/report/format.js'
import { findHaproxy } from '../../../tuning/knobs/haproxy.js'
import { newDatabase } from '../../support/postgres.js'
import { smoke } from '../../support/smoke.js'

const NO_HAPROXY = findHaproxy() ? false : 'this needs haproxy: apt-get install haproxy'

t.test('processes: every set-up stores rows, and two processes share them', { skip: NO_HAPROXY }, async (t) => {
  const { url } = await newDatabase(t)
  const { run, trials } = await smoke(t, 'processes', ['--quick', '--duration', '500ms'], { databaseUrl: url })
  // One that the machine spoilt is repeated.
  const valid = trials.filter(isValid)
  t.equal(new Set(valid.map(({ cell }) => cellName(cell))).size, run.plan.processes.length + 1)
  for (const { cell, settings, traffic } of valid) {
    t.ok(traffic.rows_stored > 0, cell.front)
    t.equal(settings.PROCESSES, cell.front === 'direct' ? undefined : cell.processes)
  }
})
