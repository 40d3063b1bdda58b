import t from 'tap'
import { admit, affordableRefusals, serviceRate } from '../../../api/admission.js'

const LIMITS = { maxQueueRequests: 100, maxQueueMs: 50, maxLoopDelayMs: 200 }
const IDLE = { waiting: 0, rate_rps: 1000, loop_delay_ms: 0, refusals: 10 }

t.test('who is let in', async (t) => {
  /** @type {[string, Partial<typeof IDLE>, string | null][]} */
  const cases = [
    ['nobody waits', {}, null],
    ['50 wait at 1,000/s: 50 ms', { waiting: 50 }, null],
    ['51 wait at 1,000/s', { waiting: 51 }, 'queue_ms'],
    ['51 wait at 10,000/s', { waiting: 51, rate_rps: 10_000 }, null],
    ['nothing gets done', { waiting: 1, rate_rps: 0 }, 'queue_ms'],
    ['nothing gets done, and nobody waits', { rate_rps: 0 }, null],
    ['the rate is not known yet', { waiting: 99, rate_rps: Infinity }, null],
    ['too many at any rate', { waiting: 100, rate_rps: Infinity }, 'queue_requests'],
    ['the loop is not late enough', { loop_delay_ms: 200 }, null],
    ['the loop is late', { loop_delay_ms: 201 }, 'loop_delay_ms'],
    ['the loop is late, and too many wait', { loop_delay_ms: 201, waiting: 51 }, 'loop_delay_ms'],
    ['one more refusal', { waiting: 51, refusals: 1 }, 'queue_ms'],
    ['no more refusals', { waiting: 99, loop_delay_ms: 900, refusals: 0 }, null],
    ['no more refusals, and too many', { waiting: 100, refusals: 0 }, 'queue_requests'],
  ]
  for (const [name, signals, limit] of cases) t.equal(admit({ ...IDLE, ...signals }, LIMITS), limit, name)
  const off = { ...LIMITS, maxQueueMs: 0, maxLoopDelayMs: 0 }
  t.equal(admit({ ...IDLE, waiting: 99, rate_rps: 1, loop_delay_ms: 9999 }, off), null, '0 switches off')
})

t.test('the rate is what is done while somebody waits; an idle window only shows that more can be done', async (t) => {
  const window = { done: 50, seconds: 0.05, alwaysBusy: true }
  t.equal(serviceRate(Infinity, window), 1000, 'the first that is known')
  t.equal(serviceRate(Infinity, { ...window, done: 0 }), Infinity, 'a stall before anything was done tells nothing')
  t.equal(serviceRate(2000, window), 1800, 'then a fifth of the way to what was seen')
  t.equal(serviceRate(2000, { ...window, alwaysBusy: false }), 2000, 'little was asked for')
  t.equal(serviceRate(500, { ...window, alwaysBusy: false }), 1000, 'and more was done')
  t.equal(serviceRate(0, { ...window, done: 0 }), 0)
  t.equal(serviceRate(0, window), 200, 'up again')
})

t.test('refusals fit into the time that was idle, and into a twentieth of the rest', async (t) => {
  const rows = [
    [{ seconds: 0.05, utilization: 1, handled: 1000 }, 50, 'a full core: 2.5 ms, at the 50 us that each request took'],
    [{ seconds: 0.05, utilization: 1, handled: 4000 }, 200, 'a machine that is four times as fast'],
    [{ seconds: 0.05, utilization: 0.5, handled: 500 }, 550, 'a core that is idle half of the time: 27.5 ms'],
    [{ seconds: 0.1, utilization: 0.5, handled: 500 }, 550, 'a longer window, in which each took twice as long'],
    [{ seconds: 0.05, utilization: 0, handled: 0 }, 1050, 'nothing is known of the cost: 50 us'],
    [{ seconds: 0.05, utilization: 0.1, handled: 9 }, 950, 'nor by a few'],
  ]
  for (const [window, expected, about] of /** @type {[any, number, string][]} */ (rows)) {
    t.equal(affordableRefusals(window), expected, about)
  }
})
