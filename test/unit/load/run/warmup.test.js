import t from 'tap'
import { leftOver_s, warmUp } from '../../../../load/run/warmup.js'

/** @import { Traffic } from '../../../../load/report/record.js' */

/** Returns what a warm-up gives, and the durations of its phases. @param {{ driver: string, rate_rps: number | null, warmup_s: number }} plan @param {object[]} traffic of its phases */
async function warmedUp(plan, traffic) {
  /** @type {number[]} */
  const durations_s = []
  const run = async (/** @type {number} */ duration_s) =>
    /** @type {Traffic} */ (traffic[durations_s.push(duration_s) - 1])
  return { warmup: await warmUp({ run }, plan), durations_s }
}

t.test(
  'paced warms up in phases, as V8 compiles its code again in the first ones; their counts are added',
  async (t) => {
    const traffic = [
      { sent: 10, completed: 9, ok: 8, status: { 201: 8, 504: 1 }, goodput_rps: 10 },
      { sent: 20, completed: 20, ok: 20, status: { 201: 20 }, goodput_rps: 20 },
      { sent: 30, completed: 28, ok: 28, status: { 201: 28 }, goodput_rps: 28 },
    ]
    const { warmup, durations_s } = await warmedUp({ driver: 'paced', rate_rps: 200, warmup_s: 1.5 }, traffic)
    t.strictSame(durations_s, [0.5, 0.5, 0.5])
    t.strictSame(warmup, { sent: 60, completed: 57, created: 56, unanswered: 4, goodput_rps: 28 })
  },
)

t.test('a target that answers nothing costs one timeout, not three', async (t) => {
  const { durations_s } = await warmedUp({ driver: 'paced', rate_rps: 1000, warmup_s: 3 }, [
    { sent: 9, completed: 0, ok: 0, status: {} },
  ])
  t.strictSame(durations_s, [1])
})

t.test('other drivers warm up at once, and none does that is not asked to', async (t) => {
  const traffic = [{ sent: 9, completed: 9, ok: 9, status: {}, goodput_rps: 3 }]
  t.strictSame((await warmedUp({ driver: 'wrk', rate_rps: null, warmup_s: 3 }, traffic)).durations_s, [3])
  t.strictSame((await warmedUp({ driver: 'vegeta', rate_rps: 1000, warmup_s: 3 }, traffic)).durations_s, [3])
  t.strictSame((await warmedUp({ driver: 'paced', rate_rps: 99, warmup_s: 3 }, traffic)).durations_s, [3], 'too few')
  t.strictSame((await warmedUp({ driver: 'paced', rate_rps: 1000, warmup_s: 0 }, traffic)).durations_s, [])
})

t.test('what a closed loop left with the target in its warm-up is waited for', async (t) => {
  const closed = /** @type {const} */ ({ loop: 'closed', timeout_s: 10 })
  t.equal(leftOver_s(closed, { sent: 100, completed: 60, goodput_rps: 80 }), 0.5)
  t.equal(leftOver_s(closed, { sent: 100, completed: 100, goodput_rps: 80 }), 0)
  t.equal(leftOver_s(closed, { sent: 100, completed: 0, goodput_rps: 0 }), 3)
  t.equal(leftOver_s({ ...closed, loop: 'open' }, { sent: 100, completed: 60, goodput_rps: 80 }), 0)
})
