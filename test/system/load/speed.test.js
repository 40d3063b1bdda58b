import t from 'tap'
import { awaitSpeed_ms } from '../../../load/run/core-speed.js'
import { coresOf, expandCores } from '../../../load/system/machine.js'
import { timeWork_ms } from '../../../load/system/speed.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { runHere } from '../../support/in-process.js'
import { readTrials, temporaryFolder } from '../../support/lab.js'
import { newDatabase } from '../../support/postgres.js'

t.test('a fixed piece of work is timed on a core of our choice, or not at all', async (t) => {
  const own = coresOf('self')
  const core = own === null ? null : String(expandCores(own)[0])
  t.ok(Number(await timeWork_ms(core)) > 0)
  t.equal(await timeWork_ms('9999'), null, 'there is no such core')
})

t.test('a trial has the time of the work if its step asks for it', async (t) => {
  const { url } = await newDatabase(t)
  const out = `${temporaryFolder(t)}/run`
  const load = { driver: 'paced', loop: 'open', rate_rps: 50, connections: 10, warmup_s: 0.1, duration_s: 0.3 }
  /** @type {any} */
  const twoTrials = {
    ...sweep,
    design(/** @type {any} */ _, /** @type {any[]} */ { length }) {
      const step = { at: { phase: 'search' }, cell: null, left_s: 1, load: { ...load, times_work: length === 0 } }
      return length < 2 ? step : null
    },
  }
  const { stderr } = await runHere(['sweep', '--database-url', url, '--slo-p99', '5s', '--out', out], {
    verbs: { sweep: twoTrials },
  })
  const [first, second] = readTrials(out)
  t.ok(first?.work_ms > 0, stderr)
  t.notOk('work_ms' in second || 'times_work' in first.load)
})

/** Waits for the usual speed of a core whose work takes these times. @param {(number | null)[]} times_ms @param {number} [slow_ms] */
async function waitedFor(times_ms, slow_ms) {
  const left = [...times_ms]
  /** @type {string[]} */
  const notes = []
  const work = async () => (left.length > 1 ? /** @type {number | null} */ (left.shift()) : left[0])
  const io = { work, note: (/** @type {string} */ text) => notes.push(text), wait_ms: 1000 }
  const target = /** @type {const} */ ({ kind: 'local', cores: '0' })
  return { work_ms: await awaitSpeed_ms(target, slow_ms, io), notes, left: left.length }
}

t.test('a trial waits for its core while that is slower than usual, but not for ever', async (t) => {
  const text = "the service's core is slower than usual: waiting up to 1 s"
  t.strictSame(await waitedFor([14, 13, 8, 7], 9), { work_ms: 8, notes: [text], left: 1 })
  t.strictSame(await waitedFor([14], 9), { work_ms: 14, notes: [text], left: 1 }, 'it stays slow')
  t.strictSame(await waitedFor([14, 8]), { work_ms: 14, notes: [], left: 1 }, 'its usual speed is not known')
  t.strictSame(await waitedFor([null, 8], 9), { work_ms: null, notes: [], left: 1 }, 'nor is its core')
})

t.test('an abort ends the wait', async (t) => {
  const abort = new AbortController()
  const io = { work: async () => 14, note: () => abort.abort(new Error('stopped')), signal: abort.signal }
  await t.rejects(awaitSpeed_ms(/** @type {const} */ ({ kind: 'local', cores: '0' }), 9, io), { name: 'AbortError' })
})
