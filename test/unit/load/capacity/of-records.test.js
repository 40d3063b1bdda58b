import t from 'tap'
import { of, plateauOf, searchPlan, speedOf, thoughtOf, trialsOf } from '../../../../load/capacity/of-records.js'
import { SEARCH_DEFAULTS } from '../../../../load/capacity/search.js'

const PLAN = /** @type {any} */ ({ duration_s: 3, slo: { p99_ms: 100, success_ratio: 1 } })

/** @param {string} phase @param {string} verdict @param {number | null} rate_rps @param {number} goodput_rps */
function record(phase, verdict, rate_rps, goodput_rps) {
  const traffic = { goodput_rps, achieved_rps: goodput_rps, success_ratio: 1, latency_ms: { p99: 100 } }
  return /** @type {any} */ ({ at: { phase }, outcome: { verdict }, load: { rate_rps, duration_s: 3 }, traffic })
}

const PLATEAU = [
  record('plateau', 'pass', null, 700),
  record('plateau', 'fail', null, 900),
  record('plateau', 'invalid', null, 5000),
]
const SEARCH = [
  record('search', 'pass', 800, 800),
  record('relax', 'fail', 850, 800),
  record('search', 'fail', 880, 800),
]

t.test('the plateau is the best goodput of the closed loops that tell something', async (t) => {
  t.equal(plateauOf([...PLATEAU, ...SEARCH]), 900)
  t.equal(plateauOf(SEARCH), 0, 'none')
})

t.test('a search takes its trials from the records of its own phase', async (t) => {
  t.strictSame(of([...PLATEAU, ...SEARCH], 'relax'), [SEARCH[1]])
  t.strictSame(trialsOf([...PLATEAU, ...SEARCH], PLAN), [
    { rate_rps: 800, duration_s: 3, verdict: 'pass', score: 0, kept_rps: null },
    { rate_rps: 880, duration_s: 3, verdict: 'fail', score: 1, kept_rps: null },
  ])
})

t.test('a backlog that grows tells what the target kept up with', async (t) => {
  const [, fail] = SEARCH
  const backlog = Array.from({ length: 20 }, (_, i) => 6 * (i + 1))
  const latency_ms = { .../** @type {any} */ (fail).traffic.latency_ms, p99: 50 }
  const load = { ...fail.load, rate_rps: 1000, duration_s: 2, timeout_s: 10 }
  const growing = { ...fail, load, traffic: { ...fail.traffic, latency_ms, backlog } }
  const [{ kept_rps, score }] = trialsOf(/** @type {any} */ ([{ ...growing, at: { phase: 'search' } }]), PLAN)
  t.ok(Math.abs(Number(kept_rps) - 940) < 1, `${kept_rps}`)
  t.ok(score > 0, 'and is no pass, though its p99 was')
})

/** @param {(number | null)[]} times_ms */
function timed(times_ms) {
  return times_ms.map((work_ms, i) => ({ ...record('search', 'pass', 800 + i, 800 + i), ...(work_ms && { work_ms }) }))
}

t.test('trials at another speed of the core than most do not count', async (t) => {
  const rows = /** @type {[(number | null)[], string, string][]} */ ([
    [[null, null], 'pass pass', 'no work was timed'],
    [[5, 5.4, 4.6], 'pass pass pass', 'all within a tenth of the usual'],
    [[5, 5.6, 5, 4.4], 'pass invalid pass invalid', 'one slower, one faster'],
    [[null, 5, 9, 5], 'pass pass invalid pass', 'one was not timed'],
    [[5, 8], 'pass invalid', 'of two, one counts'],
    [[5, 5, 8, 8, 8], 'invalid invalid pass pass pass', 'the speed changed during the run'],
    [[8, 8.4, 11, 13, 13.5, 14], 'invalid invalid invalid pass pass pass', 'the median, 11, is near to none'],
  ])
  for (const [times_ms, verdicts, about] of rows) {
    const trials = trialsOf(timed(times_ms), PLAN)
    t.equal(trials.map(({ verdict }) => verdict).join(' '), verdicts, about)
    t.ok(
      trials.every(({ verdict, other_speed }) => (verdict === 'invalid') === (other_speed === true)),
      `${about}: why they do not`,
    )
  }
  const { usual_ms, least_ms, most_ms, others } = speedOf(timed([5, 9, 4.8, 5.1])) ?? {}
  t.strictSame([usual_ms, least_ms, most_ms, others?.length], [5, 4.8, 9, 1])
  t.equal(speedOf([...PLATEAU, ...SEARCH]), null)
})

t.test('a trial whose requests cost as usual counts, whatever the speed of the core was before it', async (t) => {
  const rows = /** @type {[number[], (number | null)[], string, string][]} */ ([
    [[5, 9, 5], [100, 102, 98], 'pass pass pass', 'the core had changed its speed again'],
    [[5, 9, 5], [100, 160, 98], 'pass invalid pass', 'its requests cost more as well'],
    [[5, 3, 5], [100, 60, 98], 'pass invalid pass', 'or less'],
    [[5, 9, 5], [100, 80, 98], 'pass pass pass', 'the work took longer, but its requests cost less'],
    [[5, 5, 5], [100, 160, 98], 'pass pass pass', 'its requests alone cost more: so they may under another load'],
    [[5, 9, 5], [100, null, 98], 'pass invalid pass', 'what its requests cost is not known'],
    [[5, 9, 5], [null, 100, null], 'pass invalid pass', 'what they usually cost is not known'],
  ])
  for (const [times_ms, costs_us, verdicts, about] of rows) {
    const records = timed(times_ms).map((trial, i) => {
      const cpu_us_per_request = costs_us[i]
      return { ...trial, probes: { api: cpu_us_per_request === null ? {} : { cpu_us_per_request } } }
    })
    const found = trialsOf(records, PLAN).map(({ verdict }) => verdict)
    t.equal(found.join(' '), verdicts, about)
    const beside = records.map((trial, i) => {
      const generator = costs_us[i] === null ? {} : { cpu_us_per_request: costs_us[i] }
      return { ...trial, target: { kind: 'url' }, probes: { api: {}, generator } }
    })
    const judged = trialsOf(/** @type {any} */ (beside), PLAN).map(({ verdict }) => verdict)
    t.equal(judged.join(' '), verdicts, `by the generator's cost, behind a URL: ${about}`)
    const watched = beside.map((trial) => ({ ...trial, probes: { ...trial.probes, api: { cpu_us_per_request: 100 } } }))
    const counted = trialsOf(/** @type {any} */ (watched), PLAN).every(({ verdict }) => verdict === 'pass')
    t.ok(counted, 'the cost of the service decides if it is known')
  }
})

t.test('a search plan follows the plan of the run', async (t) => {
  const common = { ...SEARCH_DEFAULTS, plateau_rps: 900 }
  const rows = [
    [PLAN, { ...common, duration_s: 3, confirm_s: 12 }, 'confirmed by a trial four times as long'],
    [
      { ...PLAN, precision_ratio: 0.1 },
      { ...common, duration_s: 3, confirm_s: 12, precision_ratio: 0.1 },
      'less precise',
    ],
    [{ ...PLAN, sustained_s: 60 }, { ...common, duration_s: 3, confirm_s: 60, sustains: true }, 'sustained'],
    [
      { ...PLAN, slo: { p99_ms: 100, success_ratio: 0.9999 } },
      { ...common, duration_s: 3, confirm_s: 12, min_requests: 50_000 },
      'an SLO that accepts one error in ten thousand requests',
    ],
    [
      { ...PLAN, slo: { p99_ms: 100, success_ratio: 0.99 } },
      { ...common, duration_s: 3, confirm_s: 12 },
      'one in a hundred needs no more than the p99',
    ],
    [{ ...PLAN, duration_s: 20 }, { ...common, duration_s: 20, max_duration_s: 20, confirm_s: 80 }, 'long trials'],
  ]
  for (const [plan, expected, about] of rows) t.strictSame(searchPlan(plan, PLATEAU), expected, about)
})

t.test('what the search knows is told, and why it asks for the next trial', async (t) => {
  const rows = [
    ['bracket', 'so far 800 to 880/s: narrowing it down'],
    ['edge', 'so far 800 to 880/s: this rate once more, since one trial may be luck'],
    ['confirm', 'so far 800 to 880/s: one long trial to confirm the rate that passed'],
  ]
  for (const [purpose, text] of rows) {
    t.equal(thoughtOf(PLAN, [...PLATEAU, ...SEARCH], /** @type {any} */ ({ purpose })), text)
  }
  t.equal(thoughtOf(PLAN, PLATEAU, /** @type {any} */ ({ purpose: 'bracket' })), 'a first rate, from the closed loops')
})
