import t from 'tap'
import { mixedItem, promisedRate, promiseText } from '../../../../../load/verbs/sweep/promise.js'

const SLO = { p99_ms: 100, success_ratio: 1 }
const CAPACITY = { low_rps: 1000, high_rps: 1100, trials: 9, confidence: 0.9 }

/** A trial of a search. @param {number} trial its number @param {number} rate_rps @param {string} verdict @param {any} [rest] */
function made(trial, rate_rps, verdict, { cost_us = 20, work_ms, duration_s = 2, p99 = 400, ...rest } = {}) {
  return /** @type {any} */ ({
    ...{ trial, at: { phase: 'search' }, cell: null, outcome: { verdict, because: `p99 ${p99} ms > 100 ms` } },
    load: { loop: 'open', rate_rps, duration_s, warmup_s: 0.5, timeout_s: 10 },
    traffic: { goodput_rps: rate_rps, success_ratio: 1, latency_ms: { p50: 5, p99 } },
    probes: { api: { cpu_us_per_request: cost_us }, generator: {}, postgres: {}, kernel: {} },
    limit: { resource: verdict === 'pass' ? 'none-reached' : 'api-cpu' },
    ...(work_ms && { work_ms }),
    ...rest,
  })
}

/** @param {any[]} records @param {object} [slo] */
function mixedOf(records, slo = SLO) {
  return /** @type {any} */ (mixedItem(/** @type {any} */ ({ plan: { slo }, records })))
}

t.test('what is safe to promise leaves a quarter of what never failed', async (t) => {
  const rows = /** @type {[string, any, any[], number | null][]} */ ([
    ['nothing below the capacity failed', CAPACITY, [made(1, 1000, 'pass'), made(2, 1100, 'fail')], 750],
    ['a rate within the capacity failed once', CAPACITY, [made(1, 900, 'fail'), made(2, 900, 'pass')], 675],
    ['no rate failed, so the capacity is unknown', { ...CAPACITY, high_rps: null }, [made(1, 1000, 'pass')], null],
    ['every rate failed', { ...CAPACITY, low_rps: null }, [made(1, 1000, 'fail')], null],
    ['no capacity', null, [made(1, 1000, 'pass')], null],
    ['rounded down, to three digits', { ...CAPACITY, low_rps: 35_300 }, [], 26_400],
    ['an invalid trial says nothing', CAPACITY, [made(1, 400, 'invalid')], 750],
    ['nor one in which a limit was relaxed', CAPACITY, [made(1, 400, 'fail', { cell: { HEAP: 'large' } })], 750],
    ['nor one in which suspects were slowed', CAPACITY, [made(1, 400, 'fail', { doses: [] })], 750],
    ['nor a first estimate', CAPACITY, [made(1, 400, 'fail', { at: { phase: 'plateau' } })], 750],
    [
      'nor one at another speed of the core',
      CAPACITY,
      [
        ...[1, 2, 3].map((trial) => made(trial, 900, 'pass', { work_ms: 4 })),
        made(4, 800, 'fail', { work_ms: 8, cost_us: 40 }),
      ],
      750,
    ],
  ])
  rows.push(['nothing is left below one request per second', { ...CAPACITY, low_rps: 1, high_rps: 2 }, [], null])
  for (const [name, capacity, records, expected] of rows) t.equal(promisedRate({ capacity, records }), expected, name)
})

t.test('it says from what the rate follows', async (t) => {
  const records = [made(1, 900, 'pass'), made(2, 900, 'fail')]
  t.match(promiseText({ capacity: CAPACITY, records }), /^Safe to promise here: 675\/s, .* lowest rate that failed/)
  t.match(promiseText({ capacity: CAPACITY, records: [] }), /^Safe to promise here: 750\/s, .* lower end/)
  t.equal(promiseText({ capacity: null, records }), null)
})

t.test('why a rate both passed and failed', async (t) => {
  const rows = /** @type {[string, any[], RegExp][]} */ ([
    ['longer', [made(1, 900, 'pass'), made(2, 900, 'fail', { duration_s: 60 })], /lasted longer \(60 s against 2 s\)/],
    [
      'dearer',
      [made(1, 900, 'pass'), made(2, 900, 'fail', { cost_us: 30 }), made(3, 900, 'pass')],
      /a request cost the service 30\.0 us of CPU, against 20\.0 us where it passed/,
    ],
    [
      'slower core',
      [made(1, 900, 'pass', { work_ms: 4 }), made(2, 900, 'fail', { work_ms: 4.3, cost_us: 22.5 })],
      /a request cost the service 22\.5 us/,
    ],
    [
      'alike',
      [made(1, 900, 'pass'), made(2, 900, 'fail', { cost_us: 21 })],
      /neither longer nor more expensive per request\. Near the capacity, a short stall or another program is enough to fail a trial\.$/,
    ],
    [
      'even longer',
      [made(1, 900, 'pass', { duration_s: 60 }), made(2, 900, 'fail')],
      /neither longer nor more expensive/,
    ],
    [
      'unknown',
      [made(1, 900, 'pass'), made(2, 900, 'fail', { cost_us: null })],
      /were not longer\. Near the capacity, a short stall/,
    ],
  ])
  for (const [name, records, expected] of rows) {
    const item = mixedOf(records)
    t.equal(item.items.length, 1, name)
    t.match(item.items[0], expected, name)
    t.match(item.items[0], /^900\/s: \d trials? passed, 1 failed \(trial 2: p99 400 ms, api-cpu\)/, name)
  }
})

t.test('a rate on which all trials agree needs no explanation', async (t) => {
  t.equal(mixedOf([made(1, 900, 'pass'), made(2, 1000, 'fail'), made(3, 1000, 'fail')]), null)
  t.equal(mixedOf([made(1, 900, 'pass'), made(2, 900, 'invalid')]), null, 'an invalid trial does not disagree')
  t.equal(mixedOf([made(1, 900, 'pass'), made(2, 900, 'fail', { cell: { HEAP: 'large' } })]), null)
})

t.test('a trial that failed for no visible reason names none', async (t) => {
  const records = [made(1, 900, 'pass'), made(2, 900, 'fail', { limit: { resource: 'none-reached' } })]
  t.match(mixedOf(records).items[0], '1 failed (trial 2: p99 400 ms).')
})

t.test('a failed trial is listed with what failed it', async (t) => {
  const backlog = Array.from({ length: 40 }, (_, i) => 2 * i)
  const rows = /** @type {[string, any, object, string][]} */ ([
    ['its p99', { p99: 400 }, SLO, 'p99 400 ms'],
    ['a bound on another latency', { p99: 90 }, { ...SLO, also_ms: { p50: 4 } }, 'p50 5.00 ms'],
    ['a growing backlog, though p99 is below the SLO', { p99: 90, backlog }, SLO, 'backlog grew by 4.4 % of the rate'],
    ['a growing backlog and a p99 above the SLO', { p99: 400, backlog }, SLO, 'p99 400 ms'],
    ['errors', { p99: 90, success_ratio: 0.99 }, SLO, '99.00 % successes'],
    [
      'fewer errors than the SLO accepts',
      { p99: 400, success_ratio: 0.99 },
      { ...SLO, success_ratio: 0.9 },
      'p99 400 ms',
    ],
    ['something else', { p99: 90 }, SLO, 'p99 90 ms > 100 ms'],
  ])
  for (const [name, { p99, ...traffic }, slo, expected] of rows) {
    const failed = made(2, 900, 'fail', { p99 })
    Object.assign(failed.traffic, traffic)
    t.match(mixedOf([made(1, 900, 'pass'), failed], slo).items[0], `1 failed (trial 2: ${expected}, api-cpu).`, name)
  }
})

t.test('rates in rising order, each once', async (t) => {
  const records = [1000, 900].flatMap((rate, i) => [made(2 * i, rate, 'pass'), made(2 * i + 1, rate, 'fail')])
  const item = mixedOf(records)
  t.strictSame(
    item.items.map((/** @type {string} */ text) => text.slice(0, text.indexOf('/s'))),
    ['900', '1,000'],
  )
})
