import t from 'tap'
import { placeAfter } from '../../../../../load/generators/drivers/workers.js'

/**
 * Times at which a worker sends that has a place every 20 ms.
 * @param {number} first_ms its first place @param {(sent_ms: number) => number} answeredAt_ms @param {number} end_ms
 */
function sendsOf(first_ms, answeredAt_ms, end_ms) {
  const sends_ms = []
  let place_ms = first_ms
  for (let now_ms = place_ms; now_ms < end_ms; ) {
    sends_ms.push(now_ms)
    const answered_ms = answeredAt_ms(now_ms)
    place_ms = placeAfter(place_ms, 20, answered_ms)
    now_ms = Math.max(place_ms, answered_ms)
  }
  return sends_ms
}

t.test('a stall of the target does not move the workers from their own places', async (t) => {
  // Nothing is answered between 100 and 167 ms.
  const stalled = (/** @type {number} */ sent_ms) => (sent_ms >= 100 && sent_ms < 167 ? 167 : sent_ms + 1)
  for (const first_ms of [0, 5, 10, 15]) {
    const late = sendsOf(first_ms, stalled, 400).filter((sent_ms) => sent_ms > 167)
    t.strictSame([...new Set(late.map((sent_ms) => sent_ms % 20))], [first_ms], late.join(', '))
  }
})

t.test('a worker whose every answer takes longer than its gap sends at once after each', async (t) => {
  for (const [service_ms, sends] of [
    [25, 40],
    [50, 20],
    [130, 8],
  ]) {
    t.equal(sendsOf(7, (sent_ms) => sent_ms + service_ms, 1007).length, sends, `${service_ms} ms`)
  }
})

t.test('a worker sends once for each of its places, and none for those that a stall took', async (t) => {
  t.equal(sendsOf(0, (sent_ms) => sent_ms + 1, 1000).length, 50)
  let requests = 0
  const alternating = (/** @type {number} */ sent_ms) => sent_ms + (requests++ % 2 === 0 ? 25 : 15)
  t.equal(sendsOf(0, alternating, 1000).length, 50, '20 ms on average')
  t.equal(sendsOf(0, (sent_ms) => (sent_ms < 500 ? 500 : sent_ms + 1), 1000).length, 26)
})

t.test('without a cap, the place of a worker is the time of its answer', async (t) => {
  t.equal(placeAfter(3, 0, 7.5), 7.5)
})
