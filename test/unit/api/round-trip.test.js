import t from 'tap'
import { createRoundTrip } from '../../../api/round-trip.js'
import { installClock } from '../../support/simulation/clock.js'

/** A way of which the test decides how long it takes. @param {any} t */
function way(t) {
  const clock = installClock()
  t.teardown(() => clock.uninstall())
  const asked = { times: 0, takes_ms: 10, fails: false }
  const roundTrip = createRoundTrip(async () => {
    asked.times++
    const { takes_ms, fails } = asked
    await clock.sleep(takes_ms)
    if (fails) throw new Error('gone')
    return takes_ms
  })
  /** A statement every 10 ms. @param {number} duration_ms */
  const work = async (duration_ms) => {
    for (let at_ms = 0; at_ms < duration_ms; at_ms += 10) {
      roundTrip.sample()
      await clock.run(() => false, 10)
    }
  }
  return { asked, roundTrip, work, clock }
}

t.test('the shortest round trip counts, and nobody asks more often than ten times a second', async (t) => {
  const { asked, roundTrip, work } = way(t)
  t.equal(roundTrip.shortest_ms(), Number.POSITIVE_INFINITY, 'not known')
  await work(1000)
  t.equal(roundTrip.shortest_ms(), 10)
  t.ok(asked.times > 5 && asked.times <= 10, `${asked.times} times`)
  asked.takes_ms = 50
  await work(5000)
  t.equal(roundTrip.shortest_ms(), 10, 'a longer one shows a busy core')
  asked.takes_ms = 5
  await work(1000)
  t.equal(roundTrip.shortest_ms(), 5)
})

t.test('a way that has become longer is believed within twenty seconds', async (t) => {
  const { asked, roundTrip, work } = way(t)
  await work(1000)
  asked.takes_ms = 50
  await work(20_100)
  t.equal(roundTrip.shortest_ms(), 50)
})

t.test('one look at a time; a failure says nothing, and an idle service asks nothing', async (t) => {
  const { asked, roundTrip, work, clock } = way(t)
  asked.takes_ms = 700
  await work(600)
  t.equal(asked.times, 1, 'the first one has no answer yet')
  await clock.run(() => false, 5000)
  t.equal(asked.times, 1, 'no statement, no look')
  t.equal(roundTrip.shortest_ms(), 700)
  Object.assign(asked, { takes_ms: 1, fails: true })
  await work(300)
  t.ok(asked.times > 1)
  t.equal(roundTrip.shortest_ms(), 700)
})
