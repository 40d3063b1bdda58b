import t from 'tap'
import { coresOf, expandCores } from '../../../load/system/machine.js'
import { timeWork_ms } from '../../../load/system/speed.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { runHere } from '../../support/in-process.js'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'
import { httpServer } from '../../support/servers.js'

t.test('a fixed piece of work is timed on a core of our choice, or not at all', async (t) => {
  const own = coresOf('self')
  const core = own === null ? null : String(expandCores(own)[0])
  t.ok(Number(await timeWork_ms(core)) > 0)
  t.equal(await timeWork_ms('9999'), null, 'there is no such core')
})

t.test('a trial has the time of the work if its step asks for it', async (t) => {
  const { url } = await newDatabase(t)
  const out = `${temporaryFolder(t)}/run`
  /** @type {any} */
  const twoTrials = {
    ...sweep,
    design: (/** @type {any} */ _, /** @type {any[]} */ { length }) => (length < 2 ? timedStep(length === 0) : null),
  }
  const { stderr } = await runHere(['sweep', '--database-url', url, '--slo-p99', '5s', '--out', out], {
    verbs: { sweep: twoTrials },
  })
  const [first, second] = readTrials(out)
  t.ok(first?.work_ms > 0, stderr)
  t.notOk('work_ms' in second || 'times_work' in first.load)
})

t.test('so has a trial of a service that runs on this machine', async (t) => {
  const url = await httpServer(t, (_, response) => response.end())
  const out = `${temporaryFolder(t)}/run`
  /** @type {any} */
  const oneTrial = {
    ...sweep,
    design: (/** @type {any} */ _, /** @type {any[]} */ { length }) => (length < 1 ? timedStep(true) : null),
  }
  const argv = ['sweep', '--url', url, '--method', 'GET', '--slo-p99', '5s', '--out', out]
  const { stderr } = await runHere(argv, { verbs: { sweep: oneTrial } })
  const [trial] = readTrials(out)
  t.ok(trial?.work_ms > 0, stderr)
})

/** @param {boolean} times_work */
function timedStep(times_work) {
  const load = { driver: 'paced', loop: 'open', rate_rps: 50, connections: 10, warmup_s: 0.1, duration_s: 0.3 }
  return { at: { phase: 'search' }, cell: null, left_s: 1, load: { ...load, times_work } }
}
