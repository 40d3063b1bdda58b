import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { statFields } from '../../../load/probes/process.js'
import { coresOf, expandCores } from '../../../load/system/machine.js'
import { LEAD_S, openDosing } from '../../../load/verdict/dose/dosing.js'
import { suspectsIn } from '../../../load/verdict/dose/suspects.js'
import { until } from '../../support/until.js'

/** @import { Dose } from '../../../load/report/record.js' */

/** Of a machine that stands still again and again; then what it found has to hold. */
const MOST_TRIES = 5

const DOSING = new URL('../../../load/verdict/dose/dosing.js', import.meta.url).href
const HELPER = fileURLToPath(new URL('../../../load/system/dose/helper.js', import.meta.url))
const withoutProc = statFields('self') ? false : 'this system has no /proc'

/** A process that only waits, and ends with the test. @param {any} t */
async function waiting(t) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  return Number(child.pid)
}

/** @param {string} suspect @param {number} share @returns {any} */
const slice = (suspect, share) => ({ suspect, resource: 'api-cpu', isDosed: share > 0, share })

/** The helpers that a process has started. @param {number} parent */
function helpersOf(parent) {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.filter((pid) => {
    const isChild = Number(statFields(pid)?.[1]) === parent
    return isChild && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(HELPER)
  })
}

/** A process that has ended stays a zombie until its new parent, init, looks after it. @param {number | string} pid */
const hasEnded = (pid) => (statFields(pid)?.[0] ?? 'Z') === 'Z'

/** @param {number | string} pid */
const isStopped = (pid) => statFields(pid)?.[0] === 'T'

t.test(
  'a dose reports what it took of a core and of a process, and nothing is taken without one',
  { skip: withoutProc },
  async (t) => {
    const pid = await waiting(t)
    const [core] = expandCores(String(coresOf('self')))
    const dosing = await openDosing(
      [
        { name: 'core', cores: String(core) },
        { name: 'process', pids: [pid] },
      ],
      new AbortController().signal,
    )
    t.teardown(dosing.close)
    const slices = [slice('core', 0), slice('core', 0.2), slice('process', 0.2), slice('process', 0)]
    const slice_ms = 300
    const run = () => dosing.run(slices, LEAD_S + (slices.length * slice_ms) / 1000)
    const hadTheirTime = (/** @type {Dose[]} */ doses) =>
      doses.every(({ from_ms, to_ms }) => to_ms - from_ms >= slice_ms / 2)
    let doses = await run()
    // Slices end by the clock: on a machine that stands still, one may be over when it has hardly begun. Then once more.
    for (let tries = 1; tries < MOST_TRIES && !hadTheirTime(doses); tries++) doses = await run()
    t.strictSame(
      doses.map(({ suspect, share }) => [suspect, share]),
      slices.map(({ suspect, share }) => [suspect, share]),
    )
    for (const { share, taken_ratio, from_ms, to_ms } of doses) {
      t.ok(to_ms > from_ms)
      if (share === 0) t.equal(taken_ratio, 0)
      else t.ok(taken_ratio > 0.02 && taken_ratio < 1, `${taken_ratio} taken`)
    }
    await dosing.close()
    t.notOk(isStopped(pid))
    t.strictSame(helpersOf(process.pid), [])
  },
)

t.test('a suspect is a process with all its descendants, or the cores it names', { skip: withoutProc }, async (t) => {
  const parent = spawn('sh', ['-c', 'sh -c "sleep 60 & wait" & wait'], { stdio: 'ignore', detached: true })
  t.teardown(() => process.kill(-Number(parent.pid), 'SIGKILL'))
  const pid = Number(parent.pid)
  const slices = [
    { ...slice('service', 0.1), of: 'service' },
    { ...slice('core', 0), cores: '0' },
  ]
  const about = { target: { pid }, generator: { pid: 0 }, database: null }
  const familyOf = async () => (await suspectsIn(slices, about)).flatMap((one) => ('pids' in one ? one.pids : []))
  await until('parent, child and grandchild', async () => (await familyOf()).length === 3)
  const [service, core] = await suspectsIn(slices, about)
  t.match(service, { name: 'service' })
  t.equal((await familyOf())[0], pid)
  t.strictSame(core, { name: 'core', cores: '0' })
})

t.test(
  'nothing is stopped for a suspect without a process, or in a family with the lab',
  { skip: withoutProc },
  async (t) => {
    const slices = [
      { ...slice('Postgres', 0.1), of: 'postgres' },
      { ...slice('parent', 0.1), pid: process.ppid },
    ]
    const found = await suspectsIn(slices, { target: { pid: null }, generator: { pid: 0 }, database: null })
    t.strictSame(found, [
      { name: 'Postgres', pids: [] },
      { name: 'parent', pids: [] },
    ])
  },
)

t.test('a process that must not be stopped gets no dose', { skip: withoutProc }, async (t) => {
  const dosing = await openDosing([{ name: 'process', pids: [] }], new AbortController().signal)
  t.teardown(dosing.close)
  const [{ taken_ratio }] = await dosing.run([slice('process', 0.2)], LEAD_S + 0.05)
  t.equal(taken_ratio, 0)
})

t.test(
  'a dose on another host begins when the host has answered, and the next slice when it has ended there',
  async (t) => {
    /** @type {[ask: string, asked_ms: number, answered_ms: number][]} */
    const heard = []
    const now_ms = () => Date.now()
    const ask = async (/** @type {string} */ name, /** @type {any} */ details) => {
      const asked_ms = now_ms()
      await setImmediate()
      heard.push([name, asked_ms, now_ms()])
      return name === 'endDose' ? 0.12 : (details ?? null)
    }
    const host = /** @type {any} */ ({ ask })
    const dosing = await openDosing([{ name: 'service', host, cores: '0' }], new AbortController().signal)
    const [dosed, undosed] = await dosing.run([slice('service', 0.1), slice('service', 0)], LEAD_S + 0.2)
    await dosing.close()
    t.strictSame(
      heard.map(([name]) => name),
      ['openDoser', 'beginDose', 'endDose', 'closeDoser'],
    )
    const [, [, , begun_ms], [, ended_ms, over_ms]] = heard
    t.ok(dosed.from_ms >= begun_ms && dosed.to_ms <= ended_ms, 'all of the slice is dosed')
    t.ok(undosed.from_ms >= over_ms, 'and nothing of its neighbour')
    t.strictSame([dosed.taken_ratio, undosed.taken_ratio], [0.12, 0])
  },
)

t.test('where one suspect cannot be slowed, the helpers of the others end', { skip: withoutProc }, async (t) => {
  const pid = await waiting(t)
  const host = /** @type {any} */ ({ ask: async () => Promise.reject(new Error('the connection was lost')) })
  const suspects = [
    { name: 'process', pids: [pid] },
    { name: 'service', host },
  ]
  await t.rejects(openDosing(suspects, new AbortController().signal), { message: 'the connection was lost' })
  t.strictSame(helpersOf(process.pid), [])
})

t.test('an interrupted dose ends at once and leaves nothing stopped', { skip: withoutProc }, async (t) => {
  const pid = await waiting(t)
  const interrupted = new AbortController()
  const dosing = await openDosing([{ name: 'process', pids: [pid] }], interrupted.signal)
  t.teardown(dosing.close)
  const running = dosing.run([slice('process', 0.9)], 60)
  await until('a stopped process', () => isStopped(pid))
  interrupted.abort(new Error('Ctrl-C'))
  await t.rejects(running, { name: 'AbortError' })
  await dosing.close()
  t.notOk(isStopped(pid))
})

t.test(
  'a helper that is killed in the middle of a dose is reported, and leaves nothing stopped',
  { skip: withoutProc },
  async (t) => {
    const pid = await waiting(t)
    const dosing = await openDosing([{ name: 'process', pids: [pid] }], new AbortController().signal)
    t.teardown(dosing.close)
    const running = dosing.run([slice('process', 0.9)], LEAD_S + 4)
    await until('a stopped process', () => isStopped(pid))
    const [helper] = helpersOf(process.pid)
    const [, ...flags] = readFileSync(`/proc/${helper}/cmdline`, 'utf8').split('\0')
    t.ok(flags.includes('--single-threaded'), 'with V8 threads, an idle helper of real-time priority may keep its core')
    process.kill(Number(helper), 'SIGKILL')
    await t.rejects(running, /the process that takes the dose ended \(SIGKILL\)/)
    await until('the process to go on', () => !isStopped(pid))
  },
)

t.test('kill -9 of the lab ends the dose, and leaves nothing stopped', { skip: withoutProc }, async (t) => {
  const pid = await waiting(t)
  const lab = spawn(process.execPath, [
    '--input-type=module',
    '-e',
    `import { openDosing } from '${DOSING}'
    const dosing = await openDosing([{ name: 'process', pids: [${pid}] }], new AbortController().signal)
    await dosing.run([{ suspect: 'process', share: 0.9, isDosed: true }], 60)`,
  ])
  t.teardown(() => lab.kill('SIGKILL'))
  await until('a stopped process', () => isStopped(pid))
  const helpers = helpersOf(Number(lab.pid))
  t.equal(helpers.length, 1)
  lab.kill('SIGKILL')
  await until('the helper to end', () => hasEnded(helpers[0]) && !isStopped(pid))
  t.pass('the helper has ended, and the process goes on')
})
