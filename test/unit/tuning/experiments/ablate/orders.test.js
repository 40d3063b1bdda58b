import t from 'tap'
import { inForce, obey, requestBegan, requestEnded } from '../../../../../tuning/experiments/ablate/inside/orders.js'
import { notTaken } from '../../../../../tuning/experiments/ablate/service.js'

t.test('a request has one end, and none under other orders', async (t) => {
  const { turns: ordered, ...others } = {
    turns: { variants: [[]], requests: 2, seed: 1 },
    without: [],
    slow_us: {},
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  const before = {}
  obey(others)
  requestBegan(before)
  obey({ ...others, turns: ordered })
  await settled()
  requestEnded(before)
  const ask = () => {
    const res = {}
    requestBegan(res)
    // The answer goes out, and the handler returns.
    for (const _ of ['sent', 'done']) requestEnded(res)
  }
  for (let i = 0; i < 40; i++) {
    ask()
    await settled()
  }
  const figures = inForce().rounds.flat()
  t.ok(figures.length > 5)
  // An end too many would leave fewer than none in flight.
  for (const [, , time_us] of figures) t.ok(time_us >= 0, String(time_us))
  obey(others)
})

t.test('an order counts as obeyed when a hook skipped a request', async (t) => {
  const found = (/** @type {any} */ calls) => ({ without: ['pool'], slow_us: {}, rounds: [], calls })
  t.equal(notTaken(['pool'], found({ pool: { skipped: 1, passed: 0 } })), null)
  t.match(notTaken(['pool'], found({})), /without pool, .* did not skip \(0 let through\)/)
  t.match(
    notTaken(['log', 'pool'], found({ log: { skipped: 2, passed: 0 }, pool: { skipped: 0, passed: 1 } })),
    /pool.*1 let/,
  )
  t.equal(notTaken([], found({})), null)
})
