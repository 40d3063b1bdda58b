import t from 'tap'
import { createLine } from '../../../../load/system/line.js'
import { virtualClock } from '../../../support/virtual-clock.js'

/** What arrives, and when. @param {{ late_ms?: () => number }} [options] */
function line(options) {
  const clock = virtualClock(options)
  const later = createLine(clock)
  /** @type {[string, number][]} */
  const arrived = []
  return {
    clock,
    arrived,
    send: (/** @type {string} */ name, delay_ms = 5) => later(delay_ms, () => arrived.push([name, clock.now()])),
  }
}

t.test('everything arrives after its delay, however much is on the way', (t) => {
  const { clock, arrived, send } = line()
  send('a')
  clock.runUntil(2)
  send('b')
  clock.runUntil(20)
  t.strictSame(arrived, [
    ['a', 5],
    ['b', 7],
  ])
  t.end()
})

t.test('what was sent first arrives first, even if its timer fires last', (t) => {
  const late_ms = [3, 0]
  const { clock, arrived, send } = line({ late_ms: () => late_ms.shift() ?? 0 })
  send('a')
  clock.runUntil(1)
  send('b')
  clock.runUntil(20)
  t.strictSame(
    arrived.map(([name]) => name),
    ['a', 'b'],
  )
  t.end()
})

t.test('a shorter delay overtakes nothing', (t) => {
  const { clock, arrived, send } = line()
  send('a', 9)
  send('b', 1)
  clock.runUntil(20)
  t.strictSame(arrived, [
    ['a', 9],
    ['b', 9],
  ])
  t.end()
})

t.test('a timer that fires early counts if half a millisecond is missing, but no more', (t) => {
  for (const [late_ms, expected_ms] of [
    [-1, 5],
    [-0.6, 5],
    [-0.5, 4.5],
    [-0.2, 4.8],
  ]) {
    const first = [late_ms]
    const { clock, arrived, send } = line({ late_ms: () => first.shift() ?? 0 })
    send('a')
    clock.runUntil(20)
    t.strictSame(arrived, [['a', expected_ms]], `fires ${late_ms} ms late`)
  }
  t.end()
})
