import t from 'tap'
import { createGate } from '../../../api/gate.js'
import { installClock } from '../../support/simulation/clock.js'

/** @import { Limits } from '../../../api/admission.js' */

const NO_LIMITS = { maxQueueRequests: 10_000, maxQueueMs: 0, maxLoopDelayMs: 0 }
const WINDOW_MS = 50

/**
 * A gate on a virtual clock.
 * @param {any} t
 * @param {Partial<Limits>} limits
 */
function start(t, limits) {
  const clock = installClock()
  t.teardown(clock.uninstall)
  const state = { waiting: 0 }
  const gate = createGate({ waiting: () => state.waiting, limits: { ...NO_LIMITS, ...limits } })
  const pass = (/** @type {number} */ windows) => clock.run(() => false, windows * WINDOW_MS)
  return {
    clock,
    gate,
    state,
    pass,

    /** What is done in the windows to come, at an even pace. @param {number} windows @param {number} perWindow */
    async serve(windows, perWindow) {
      for (let window = 0; window < windows; window++) {
        for (let i = 0; i < perWindow; i++) gate.served()
        await pass(1)
      }
    },

    /** Requests that arrive at once. @param {number} count @returns {number} how many are let in */
    arrive: (count) => Array.from({ length: count }, gate.lets).filter(Boolean).length,
  }
}

t.test('a loop delay counts only when it was there twice in a row', async (t) => {
  const { clock, gate, pass } = start(t, { maxLoopDelayMs: 500 })
  await pass(2)
  const lateBy = async (/** @type {number} */ delay_ms) => {
    clock.stall(WINDOW_MS + delay_ms)
    await pass(0)
  }
  await lateBy(800)
  t.equal(gate.signals().loop_delay_ms, 0, 'a single stall is over once it is known')
  t.equal(gate.lets(), true)
  await lateBy(600)
  t.equal(gate.signals().loop_delay_ms, 600, 'the smaller of the two')
  t.equal(gate.lets(), false)
  t.equal(gate.shed.loop_delay_ms, 1)
  await lateBy(500)
  t.equal(gate.lets(), true, 'as late as the limit is not too late')
  await lateBy(501)
  t.equal(gate.lets(), true)
  await lateBy(501)
  t.equal(gate.lets(), false)
  await pass(1)
  t.equal(gate.signals().loop_delay_ms, 0, 'on time again')
  t.equal(gate.lets(), true)
  await lateBy(800)
  t.equal(gate.lets(), true, 'and the next stall is the first one')
})

t.test('the first rate is taken from half a second, later ones from each window', async (t) => {
  const { gate, state, serve } = start(t, {})
  state.waiting = 5
  await serve(1, 3)
  t.equal(gate.signals().rate_rps, Number.POSITIVE_INFINITY, 'it was not known that anybody waited')
  await serve(9, 3)
  t.equal(gate.signals().rate_rps, Number.POSITIVE_INFINITY, 'too early')
  await serve(1, 3)
  t.equal(gate.signals().rate_rps, 60, '30 in half a second')
  await serve(1, 4)
  t.equal(gate.signals().rate_rps, 64, '80 per second, at a fifth of the weight')
  await serve(1, 0)
  t.equal(Math.round(gate.signals().rate_rps), 51, 'a window in which nothing gets done')
})

t.test('a window in which nobody waited at some moment can only raise the rate', async (t) => {
  for (const moment of ['arrival', 'answer']) {
    await t.test(`seen on an ${moment}`, async (t) => {
      const { gate, state, pass, serve } = start(t, {})
      state.waiting = 5
      await serve(11, 3)
      t.equal(gate.signals().rate_rps, 60)
      const idleFor = async (/** @type {number} */ done) => {
        state.waiting = 0
        if (moment === 'arrival') gate.lets()
        else gate.served()
        state.waiting = 5
        for (let i = moment === 'arrival' ? 0 : 1; i < done; i++) gate.served()
        await pass(1)
      }
      await idleFor(1)
      t.equal(gate.signals().rate_rps, 60, 'little was asked for')
      await idleFor(4)
      t.equal(gate.signals().rate_rps, 80, 'more could be done than was known')
      await serve(1, 3)
      t.equal(gate.signals().rate_rps, 76, 'and the next window counts in full')
    })
  }
})

t.test('a window in which nobody waits at its beginning does not lower the rate, either', async (t) => {
  const { gate, state, serve } = start(t, {})
  state.waiting = 5
  await serve(11, 3)
  state.waiting = 0
  await serve(1, 3)
  state.waiting = 5
  await serve(1, 1)
  t.equal(gate.signals().rate_rps, 60)
  await serve(1, 1)
  t.equal(gate.signals().rate_rps, 52, 'the next one does')
})

t.test('whoever would wait too long is turned away, until the queue is shorter', async (t) => {
  const { gate, state, serve } = start(t, { maxQueueMs: 1000 })
  state.waiting = 61
  t.equal(gate.lets(), true, 'no rate is known yet')
  await serve(11, 3)
  t.equal(gate.lets(), false, '61 waiting at 60 per second')
  t.equal(gate.shed.queue_ms, 1)
  state.waiting = 60
  t.equal(gate.lets(), true, 'a second is not too long')
  t.strictSame(gate.shed, { queue_requests: 0, queue_ms: 1, loop_delay_ms: 0 })
  t.equal(gate.signals().waiting, 60)
})

t.test('there are only so many refusals in a window: whoever comes beyond them is let in', async (t) => {
  const { clock, gate, state, serve, arrive } = start(t, { maxQueueMs: 1000 })
  state.waiting = 100
  clock.utilization = 1
  await serve(11, 3)
  // A twentieth of 50 ms, at 50 us each.
  t.equal(arrive(1000), 1000 - 50)
  t.equal(gate.shed.queue_ms, 50)
  t.equal(arrive(10), 10, 'none is left')
  clock.utilization = 0.6
  await serve(1, 3)
  // 53 requests took 0.6 of the window; so 0.45 of it is enough for 39.
  t.equal(arrive(3000), 3000 - 39, 'as many as there was time for')
})

t.test('the bound on the queue holds at any time, however many refusals it takes', async (t) => {
  const { clock, gate, state, arrive, pass } = start(t, { maxQueueRequests: 50 })
  clock.utilization = 1
  state.waiting = 49
  t.equal(arrive(10), 10)
  state.waiting = 50
  t.equal(arrive(1000), 0, 'also before anything is known')
  await pass(1)
  t.equal(arrive(1000), 0)
  t.strictSame(gate.shed, { queue_requests: 2000, queue_ms: 0, loop_delay_ms: 0 })
})
