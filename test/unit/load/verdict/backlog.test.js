import t from 'tap'
import { seededRandom } from '../../../../load/system/random.js'
import { growingBacklog } from '../../../../load/verdict/backlog.js'

const LOOKS = 20
const LOAD = { rate_rps: 1000, duration_s: 2, timeout_s: 10 }
const SLO = { p99_ms: 100, success_ratio: 1 }

/**
 * A trial of which only the backlog matters.
 * @param {(at_s: number) => number} backlogAt requests @param {{ load?: object, p99_ms?: number, slo_ms?: number }} [other]
 */
function grows(backlogAt, { load = {}, p99_ms = 20, slo_ms = SLO.p99_ms } = {}) {
  const whole = { ...LOAD, ...load }
  const backlog = Array.from({ length: LOOKS }, (_, i) => backlogAt(((i + 1) * whole.duration_s) / LOOKS))
  const trial = /** @type {any} */ ({ load: whole, traffic: { backlog, latency_ms: { p99: p99_ms } } })
  return growingBacklog(trial, { ...SLO, p99_ms: slo_ms })
}

t.test('a service that serves a little less than is offered falls behind', (t) => {
  for (const served_rps of [980, 950, 700]) {
    const found = grows((at_s) => 5 + (1000 - served_rps) * at_s)
    t.ok(Math.abs(Number(found?.share) - (1000 - served_rps) / 1000) < 0.002, `${served_rps}/s: ${found?.share}`)
  }
  t.strictSame(
    grows((at_s) => Math.round(50 * at_s)),
    { share: 0.05, first: 5, last: 100 },
  )
  t.end()
})

t.test('what comes and goes is no growth', (t) => {
  const random = seededRandom(1)
  const rows = /** @type {[string, (at_s: number) => number][]} */ ([
    ['nothing waits', () => 0],
    ['always as many', () => 40],
    ['up and down', () => 40 * random()],
    ['less and less', (at_s) => 100 - 40 * at_s],
    ['one stall, worked off', (at_s) => (at_s > 0.4 && at_s < 0.8 ? 300 : 5)],
    ['half a percent, within what a trial of seconds can tell', (at_s) => 5 + 5 * at_s],
  ])
  for (const [name, backlogAt] of rows) t.equal(grows(backlogAt), null, name)
  t.end()
})

t.test('of trials whose backlog is noise alone, at most two in a hundred seem to grow', (t) => {
  const random = seededRandom(2)
  let wrong = 0
  for (let i = 0; i < 1000; i++) if (grows(() => 200 * random())) wrong++
  t.ok(wrong <= 20, `${wrong} of 1,000`)
  t.end()
})

t.test("in a log's rhythm, what is in flight follows the arrivals, and says nothing", (t) => {
  const rising = (/** @type {object} */ load) => grows((at_s) => 30 + 30 * at_s, { load: { rate_rps: 2000, ...load } })
  t.ok(rising({}))
  t.equal(rising({ arrivals: 'recorded' }), null)
  t.end()
})

t.test('until the first answers are due, a backlog says nothing', (t) => {
  const untilFull = (/** @type {number} */ at_s) => Math.min(2000, 1000 * at_s)
  const slow = { load: { duration_s: 4 }, p99_ms: 2000, slo_ms: 2000 }
  t.equal(grows(untilFull, slow), null, 'a service that takes two seconds for each request')
  t.match(grows(untilFull, { ...slow, p99_ms: 20 }), { first: 200 }, 'and one that would have been done with them')
  t.equal(
    grows((at_s) => 500 * at_s, { p99_ms: 1500, slo_ms: 5000 }),
    null,
    'too short to tell',
  )
  t.end()
})

t.test('it is judged only where a latency is asked for, and there is a schedule', (t) => {
  const growing = (/** @type {number} */ at_s) => 50 * at_s
  t.ok(grows(growing, { slo_ms: 9999 }))
  t.equal(grows(growing, { slo_ms: 10_000 }), null, 'any answer within the timeout will do')
  t.equal(grows(growing, { load: { rate_rps: null } }), null)
  const untimed = /** @type {any} */ ({ load: LOAD, traffic: { latency_ms: { p99: 20 } } })
  t.equal(growingBacklog(untimed, SLO), null, 'records of older versions')
  t.end()
})
