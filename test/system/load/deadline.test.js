import fs from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { startGenerator } from '../../../load/drive.js'
import { created, httpServer } from '../../support/servers.js'
import { withoutDriver } from '../../support/skip.js'

const LOOP = "process.on('SIGUSR2', () => { for (;;); })"
const GRACE_S = 0.5
const MESSAGE = /^expected the generator \(\w+\) to end "run" within 1.9 s, killed it/

/**
 * @param {any} t
 * @param {string} driver
 * @param {AbortSignal} [signal]
 */
async function generatorOf(t, driver, signal = new AbortController().signal) {
  const url = await httpServer(t, created)
  const mix = { name: 'create-user', method: 'POST', headers: [], body_base64: null, seed: 1 }
  const load = { driver, url, mix, trial: 1, rate_rps: 50, connections: 2, timeout_s: 0.2 }
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

t.test('a generator that was stopped is killed at its deadline', async (t) => {
  const generator = await generatorOf(t, 'paced')
  process.kill(generator.pid, 'SIGSTOP')
  await t.rejects(generator.run(1), { message: MESSAGE })
  await generator.close()
  t.notOk(isAlive(generator.pid))
})

t.test('a generator in an endless loop', async (t) => {
  const options = process.env.NODE_OPTIONS
  process.env.NODE_OPTIONS = `${options ?? ''} --import=data:text/javascript,${encodeURIComponent(LOOP)}`
  t.teardown(() => {
    if (options === undefined) delete process.env.NODE_OPTIONS
    else process.env.NODE_OPTIONS = options
  })

  await t.test('is killed at its deadline', async (t) => {
    const generator = await generatorOf(t, 'paced')
    process.kill(generator.pid, 'SIGUSR2')
    await t.rejects(generator.run(1), { message: MESSAGE })
  })

  await t.test('is killed within a second of an abort', async (t) => {
    const controller = new AbortController()
    const generator = await generatorOf(t, 'paced', controller.signal)
    const running = generator.run(10)
    process.kill(generator.pid, 'SIGUSR2')
    const aborted_ms = performance.now()
    controller.abort(new Error('aborted by the test'))
    await t.rejects(running, { message: 'aborted by the test' })
    t.ok(performance.now() - aborted_ms < 1000)
  })
})

for (const driver of ['wrk', 'vegeta']) {
  t.test(
    `${driver}, stopped, is killed with the generator that waits for it`,
    { skip: withoutDriver(driver) },
    async (t) => {
      const generator = await generatorOf(t, driver)
      const running = generator.run(1)
      running.catch(() => {})
      const pid = await childOf(generator.pid)
      process.kill(pid, 'SIGSTOP')
      await t.rejects(running, { message: MESSAGE })
      for (const until = Date.now() + 2000; isAlive(pid) && Date.now() < until; ) await setTimeout(10)
      t.notOk(isAlive(pid))
    },
  )
}

t.test('a phase that is stopped early has its deadline from then on', async (t) => {
  const generator = await generatorOf(t, 'paced')
  const running = generator.run(3600)
  running.catch(() => {})
  process.kill(generator.pid, 'SIGSTOP')
  generator.enough()
  await t.rejects(running, { message: /to end "run" within 0.9 s/ })
})

/** @param {number} pid @returns {Promise<number>} of its child, once it has one */
async function childOf(pid) {
  for (const until = Date.now() + 5000; Date.now() < until; await setTimeout(10)) {
    const [child] = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ')
    // Before it has become the program that it is to run, it may not be stopped.
    if (child && /wrk|vegeta/.test(fs.readFileSync(`/proc/${child}/comm`, 'utf8'))) return Number(child)
  }
  throw new Error(`process ${pid} has no child`)
}
