import fs from 'node:fs'
import t from 'tap'
import { startGenerator } from '../../../load/generators/drive.js'
import { statFields } from '../../../load/probes/process.js'
import { textOf } from '../../../load/system/machine.js'
import { created, httpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'
import { until } from '../../support/until.js'

/** Has a generator that gets SIGUSR2 never return to its event loop. */
const BLOCKS =
  "import fs from 'node:fs'; process.on('SIGUSR2', () => { fs.writeFileSync(process.env.REDLINE_TEST_BLOCKED + process.pid, ''); " +
  'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) })'
process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=data:text/javascript,${encodeURIComponent(BLOCKS)}`
process.env.REDLINE_TEST_BLOCKED = `${t.testdir()}/`
const isBlocked = (/** @type {number} */ pid) => fs.existsSync(`${process.env.REDLINE_TEST_BLOCKED}${pid}`)

// Each has its deadline to wait for.
t.jobs = 6

const GRACE_S = 0.25
const RUN_S = 0.25
const MESSAGE = /^expected the generator \(\w+\) to end "run" within 1 s; killed it/

/**
 * @param {any} t
 * @param {string} driver
 * @param {AbortSignal} [signal]
 */
async function generatorOf(t, driver, signal = new AbortController().signal) {
  const url = await httpServer(t, created)
  const mix = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 1 }
  const load = { driver, url, mix, trial: 1, rate_rps: 50, connections: 2, timeout_s: 0.25 }
  const generator = await startGenerator(load, signal, () => {}, { grace_s: GRACE_S })
  t.teardown(() => generator.close())
  return generator
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

t.test('a generator that was stopped is killed at its deadline', { buffered: true }, async (t) => {
  const generator = await generatorOf(t, 'paced')
  process.kill(generator.pid, 'SIGSTOP')
  await t.rejects(generator.run(RUN_S), { message: MESSAGE })
  await generator.close()
  t.notOk(isAlive(generator.pid))
})

t.test('a failure of a driver is one line, and its stack tells where it happened', { buffered: true }, async (t) => {
  const source = "export const DRIVERS = { broken: { open: async () => { throw new Error('no room for results') } } }"
  const drivers_url = `data:text/javascript,${encodeURIComponent(source)}`
  const mix = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 1 }
  const load = { driver: 'broken', drivers_url, url: 'http://127.0.0.1:1/', mix, trial: 1, rate_rps: 50 }
  const { signal } = new AbortController()
  const failed = await startGenerator({ ...load, connections: 2, timeout_s: 0.25 }, signal, () => {}).then(
    () => t.fail('expected it to fail'),
    (error) => error,
  )
  t.equal(failed.message, 'no room for results')
  t.match(failed.stack, /no room for results\n +at .*data:text/)
})

t.test('a generator whose event loop is blocked is killed at its deadline', { buffered: true }, async (t) => {
  const generator = await generatorOf(t, 'paced')
  process.kill(generator.pid, 'SIGUSR2')
  await until('it to be blocked', () => isBlocked(generator.pid), 15_000)
  await t.rejects(generator.run(RUN_S), { message: MESSAGE })
})

t.test('a blocked generator is killed after an abort, long before its deadline', { buffered: true }, async (t) => {
  const controller = new AbortController()
  const generator = await generatorOf(t, 'paced', controller.signal)
  const running = generator.run(20)
  running.catch(() => {})
  process.kill(generator.pid, 'SIGUSR2')
  await until('it to be blocked', () => isBlocked(generator.pid), 15_000)
  controller.abort(new Error('aborted by the test'))
  await t.rejects(running, { message: 'aborted by the test' })
  await until('the generator to end', () => !isAlive(generator.pid))
})

for (const driver of ['wrk', 'vegeta']) {
  t.test(
    `${driver}, stopped, is killed with the generator that waits for it`,
    { skip: withoutDriver(driver), buffered: true },
    async (t) => {
      const generator = await generatorOf(t, driver)
      const running = generator.run(5)
      running.catch(() => {})
      const pid = await childOf(generator.pid)
      process.kill(pid, 'SIGSTOP')
      await t.rejects(running, { message: /to end "run" within 5.75 s; killed it/ })
      // It stays a zombie until its new parent, init, looks after it.
      await until(`${driver} to end`, () => (statFields(pid)?.[0] ?? 'Z') === 'Z')
    },
  )
}

t.test('a phase that is stopped early has its deadline from then on', { buffered: true }, async (t) => {
  const generator = await generatorOf(t, 'paced')
  const running = generator.run(3600)
  running.catch(() => {})
  process.kill(generator.pid, 'SIGSTOP')
  generator.enough()
  await t.rejects(running, { message: /to end "run" within 0.75 s/ })
})

/** @param {number} pid @returns {Promise<number>} of its child, once it has one */
async function childOf(pid) {
  let child = ''
  await until('the generator to have a child', () => {
    child = textOf(`/proc/${pid}/task/${pid}/children`)?.split(' ')[0] ?? ''
    // Before it has become the program that it is to run, it may not be stopped; it may also have ended.
    return child && /wrk|vegeta/.test(textOf(`/proc/${child}/comm`) ?? '')
  })
  return Number(child)
}
