import t from 'tap'
import { DETECTORS } from '../../../../load/verdict/detectors/index.js'
import { judge } from '../../../../load/verdict/judge.js'

const SLO = { p99_ms: 100, success_ratio: 1 }

/**
 * A trial in which all went well, but for what is given.
 * @param {object} [traffic]
 * @param {number | null} [lateness_p99_ms] null: a closed loop
 * @param {{ others?: number, steal?: number, shared?: boolean }} [core] of the service
 */
function trial(traffic = {}, lateness_p99_ms = 1, { others = 0, steal = 0, shared = false } = {}) {
  const fine = {
    planned: 1000,
    sent: 1000,
    completed: 1000,
    ok: 1000,
    rows_stored: 1000,
    success_ratio: 1,
    status: { 201: 1000 },
    errors: {},
    latency_ms: { p99: 20 },
    warmup_unanswered: 0,
    ...traffic,
  }
  const lateness_ms = lateness_p99_ms === null ? null : { p99: lateness_p99_ms }
  const cores = { 0: { busy_ratio: 0.5 + others, interrupts_ratio: 0, steal_ratio: steal } }
  return /** @type {any} */ ({
    target: { cores: '0' },
    load: { loop: lateness_ms ? 'open' : 'closed', duration_s: 10 },
    traffic: fine,
    probes: {
      api: { cpu_core_ratio: 0.5 },
      postgres: {},
      generator: { lateness_ms, cores: shared ? '0' : '1' },
      kernel: { cores },
    },
  })
}

const rows = [
  ['pass', 'every answer in time and every row stored', trial()],
  ['pass', 'a p99 of exactly the bound', trial({ latency_ms: { p99: 100 } })],
  ['pass', 'a target whose rows are not ours to count', trial({ rows_stored: null })],
  ['pass', 'a closed loop, which has no lateness', trial({}, null)],
  ['pass', 'a late generator, since lateness only adds to latency', trial({}, 50)],
  ['pass', 'every row stored, by a driver that times no request', trial({ latency_ms: null, untimed: true }, null)],
  [
    'fail',
    'a refusal, whether or not the driver times requests',
    trial({ ok: 999, success_ratio: 0.999, status: { 201: 999, 503: 1 }, rows_stored: 999, untimed: true }, null),
  ],
  ['fail', 'p99 over the bound', trial({ latency_ms: { p99: 100.1 } })],
  [
    'fail',
    'one answer of 1000 no success',
    trial({ ok: 999, success_ratio: 0.999, status: { 201: 999, 503: 1 }, rows_stored: 999 }),
  ],
  [
    'fail',
    'success without a single answer',
    trial({ ok: 0, success_ratio: 0, status: {}, rows_stored: 0, latency_ms: null, completed: 0 }),
  ],
  [
    'fail',
    'timeouts, whose rows may be stored or not',
    trial({
      completed: 990,
      ok: 990,
      success_ratio: 0.99,
      status: { 201: 990 },
      errors: { 'client:timeout': 10 },
      rows_stored: 995,
    }),
  ],
  [
    'fail',
    'a server that refuses',
    trial({
      completed: 990,
      ok: 990,
      success_ratio: 0.99,
      status: { 201: 990 },
      errors: { 'server:refused': 10 },
      rows_stored: 990,
    }),
  ],
  ['invalid', 'a 201 without its row', trial({ rows_stored: 999 })],
  ['invalid', 'a row without its 201', trial({ rows_stored: 1001 })],
  [
    'fail',
    'requests of unknown outcome, one of them stored',
    trial({ ok: 998, success_ratio: 0.998, status: { 201: 998, 504: 2 }, rows_stored: 999 }),
  ],
  [
    'invalid',
    'more rows than 201s and unknown outcomes',
    trial({ ok: 998, success_ratio: 0.998, status: { 201: 998, 504: 2 }, rows_stored: 1001 }),
  ],
  [
    'invalid',
    'more rows than even the unanswered requests explain',
    trial({
      completed: 990,
      ok: 990,
      success_ratio: 0.99,
      status: { 201: 990 },
      errors: { 'client:timeout': 10 },
      rows_stored: 1001,
    }),
  ],
  [
    'invalid',
    'a generator out of ports',
    trial({
      errors: { 'client:ports': 1 },
      completed: 999,
      ok: 999,
      success_ratio: 0.999,
      status: { 201: 999 },
      rows_stored: 999,
    }),
  ],
  ['invalid', 'an error that nobody knows', trial({ errors: { 'unknown:EPERM': 1 } })],
  ['invalid', 'a network that is not there', trial({ errors: { 'network:unreachable': 1 } })],
  [
    'pass',
    'rows of warm-up requests that were given up and came late',
    trial({ rows_stored: 1002, warmup_unanswered: 2 }),
  ],
  ['invalid', 'a generator out of descriptors', trial({ errors: { 'client:nofile': 1 } })],
  ['invalid', 'a fail of which a late generator may be the cause', trial({ latency_ms: { p99: 150 } }, 20)],
  ['fail', 'a queue that a late generator does not explain', trial({ latency_ms: { p99: 400 } }, 20)],
  ['invalid', 'a generator that was later than the whole SLO', trial({ latency_ms: { p99: 4000 } }, 500)],
  [
    'invalid',
    'timeouts of a generator that was late',
    trial(
      {
        ok: 990,
        success_ratio: 0.99,
        completed: 990,
        status: { 201: 990 },
        errors: { 'client:unsent': 10 },
        rows_stored: 990,
      },
      500,
    ),
  ],
  [
    'invalid',
    'connections that aged in the hands of a generator that was seconds late',
    trial(
      {
        ok: 990,
        success_ratio: 0.99,
        completed: 995,
        status: { 201: 990, 408: 5 },
        errors: { 'client:timeout': 1, 'server:closed-idle': 4 },
        rows_stored: 990,
      },
      5000,
    ),
  ],
  [
    'invalid',
    'the same, and a single refusal beside it',
    trial(
      {
        ok: 990,
        success_ratio: 0.99,
        completed: 995,
        status: { 201: 990, 408: 4, 503: 1 },
        errors: { 'client:timeout': 5 },
        rows_stored: 990,
      },
      5000,
    ),
  ],
  [
    'fail',
    'refusals alone, however late the generator was',
    trial({ ok: 700, success_ratio: 0.7, status: { 201: 700, 503: 300 }, rows_stored: 700 }, 5000),
  ],
  [
    'fail',
    'refusals and timeouts of a generator that was a little late',
    trial(
      {
        ok: 700,
        success_ratio: 0.7,
        completed: 900,
        status: { 201: 700, 503: 200 },
        errors: { 'client:timeout': 100 },
        rows_stored: 700,
      },
      50,
    ),
  ],
  [
    'fail',
    'connections that broke while the generator was a little late',
    trial(
      {
        ok: 996,
        success_ratio: 0.996,
        completed: 996,
        status: { 201: 996 },
        errors: { 'server:closed-idle': 4 },
        rows_stored: 996,
      },
      20,
    ),
  ],
  ['invalid', 'a neighbour on the core of the service', trial({ latency_ms: { p99: 150 } }, 1, { others: 0.2 })],
  ['invalid', 'a host that takes the core away', trial({ latency_ms: { p99: 150 } }, 1, { steal: 0.2 })],
  ['pass', 'what is in time beside a neighbour', trial({}, 1, { others: 0.2 })],
  [
    'fail',
    'a core that is shared with the generator anyway',
    trial({ latency_ms: { p99: 150 } }, 1, { others: 0.4, shared: true }),
  ],
]

t.test('what is invalid says whose doing it was', async (t) => {
  const late = { latency_ms: { p99: 150 } }
  t.equal(judge(trial(late, 20), SLO).blame, 'generator')
  t.equal(judge(trial(late, 1, { others: 0.2 }), SLO).blame, 'noise')
  t.equal(judge(trial({ rows_stored: 999 }), SLO).blame, 'rows')
  t.equal(judge(trial({ errors: { 'client:ports': 1 } }), SLO).blame, 'generator')
  t.equal(judge(trial(late), SLO).blame, undefined, 'a fail is nobody else’s')
})

t.test('what makes a trial invalid is named, and whose doing it was', async (t) => {
  const timeouts = { completed: 990, ok: 990, success_ratio: 0.99, status: { 201: 990 }, rows_stored: 990 }
  const hosts = ['u@a', 'u@b', 'u@c'].map((host) => ({ host, errors: host === 'u@c' ? {} : { 'client:ports': 1 } }))
  const throttled = (/** @type {object} */ traffic) => {
    const record = trial(traffic)
    Object.assign(record.probes.generator, { quota_cores: 2, throttled_ratio: 0.5 })
    return record
  }
  const rows = [
    [trial({ rows_stored: 999 }), 'rows', '1000 requests were answered 201, 999 rows were stored (0 had no answer)'],
    [
      trial({ status: { 201: 990, 504: 2 }, completed: 992, rows_stored: 1003, warmup_unanswered: 2 }),
      'rows',
      '990 requests were answered 201, 1003 rows were stored (10 had no answer, 2 an unknown outcome)',
    ],
    [
      trial({ errors: { 'client:ports': 1, 'network:unreachable': 2 } }),
      'generator',
      "errors that are not the target's: 1 client:ports, 2 network:unreachable",
    ],
    [trial({ errors: { 'unknown:EPERM': 1 } }), 'unknown', "errors that are not the target's: 1 unknown:EPERM"],
    [
      trial({ errors: { 'client:ports': 2 }, hosts }),
      'generator',
      "errors that are not the target's: 2 client:ports (on u@a and u@b)",
    ],
    [
      trial({ latency_ms: { p99: 150 } }, 20),
      'generator',
      'the generator was 20.0 ms late at p99 (p99 150 ms > 100 ms)',
    ],
    [
      trial({ ...timeouts, errors: { 'client:unsent': 10 }, latency_ms: null }, 500),
      'generator',
      'the generator was 500 ms late at p99 (990 of 1000 succeeded, 100 % expected; the others: 10 × client:unsent)',
    ],
    [
      trial({ latency_ms: null }, 1, { steal: 0.2 }),
      'noise',
      "other programs used 0 % of the service's core 0, and the host took 20 % (p99 Infinity ms > 100 ms)",
    ],
    [
      throttled({ latency_ms: { p99: 150 } }),
      'generator',
      'the CPU quota of the generator is 2 cores; it was used up, and the generator stopped, 50 % of the time (p99 150 ms > 100 ms)',
    ],
  ]
  for (const [record, blame, because] of /** @type {[any, string, string][]} */ (rows)) {
    t.strictSame(judge(record, SLO), { verdict: 'invalid', because, blame })
  }
})

t.test(
  'a wait for a connection is the generator’s where the rate needs more of them, and the target was in time',
  async (t) => {
    const late = { latency_ms: { p99: 150 }, queued_ms: { p99: 120 }, ok_service_ms: { p99: 50 } }
    const with_ = (/** @type {object} */ traffic, load = {}) => {
      const { load: own, ...record } = trial(traffic)
      return { ...record, load: { ...own, connections: 256, connections_needed: 720, ...load } }
    }
    const unsent = { completed: 900, ok: 900, success_ratio: 0.9, status: { 201: 900 }, rows_stored: 900 }
    const rows = [
      ['invalid', 'too few', with_(late)],
      ['fail', 'as many as the rate needs', with_(late, { connections: 720 })],
      ['fail', 'no number that the rate needs', with_(late, { connections_needed: undefined })],
      ['fail', 'what was sent was too late, too', with_({ ...late, ok_service_ms: { p99: 101 } })],
      ['invalid', 'a driver that does not tell', with_({ ...late, ok_service_ms: undefined })],
      ['fail', 'a wait as long as the generator was late', with_({ ...late, queued_ms: { p99: 1 } })],
      ['pass', 'a wait that did no harm', with_({ ...late, latency_ms: { p99: 100 } })],
      [
        'invalid',
        'some were never sent',
        with_({ ...unsent, errors: { 'client:unsent': 100 }, latency_ms: { p99: 150 } }),
      ],
      [
        'fail',
        'others had no answer',
        with_({ ...late, ...unsent, errors: { 'client:timeout': 50, 'client:unsent': 50 } }),
      ],
      [
        'fail',
        'others were refused',
        with_({ ...late, status: { 201: 900, 503: 100 }, ok: 900, rows_stored: 900, success_ratio: 0.9 }),
      ],
    ]
    for (const [verdict, name, record] of /** @type {[string, string, any][]} */ (rows)) {
      t.equal(judge(record, SLO).verdict, verdict, name)
    }
    t.strictSame(judge(/** @type {any} */ (with_(late)), SLO), {
      verdict: 'invalid',
      blame: 'generator',
      because:
        'the generator had 256 connections, and this rate within this SLO needs 720; requests waited 119 ms for one at p99 (p99 150 ms > 100 ms)',
    })
  },
)

t.test(
  'what fails beside a generator that fills the core of Postgres is invalid, unless the target refused',
  async (t) => {
    const core = (/** @type {number} */ busy_ratio) => ({ busy_ratio, interrupts_ratio: 0, steal_ratio: 0 })
    const crowded = (/** @type {object} */ traffic, lateness_ms = 1) => {
      const record = trial(traffic, lateness_ms)
      Object.assign(record.probes, { postgres: { cpu_core_ratio: 0.1, cores: '1' } })
      Object.assign(record.probes.generator, { cpu_core_ratio: 0.6 })
      Object.assign(record.probes.kernel.cores, { 0: core(0.5), 1: core(0.95) })
      return record
    }
    const late = { latency_ms: { p99: 150 } }
    const { verdict, blame, because } = judge(crowded(late), SLO)
    t.strictSame([verdict, blame], ['invalid', 'generator'])
    t.match(because, /used 60 % of core 1, on which Postgres also runs/)
    t.equal(judge(crowded({}), SLO).verdict, 'pass', 'a generator only ever adds to latency')
    const refused = { ok: 900, success_ratio: 0.9, status: { 201: 900, 503: 100 }, rows_stored: 900 }
    t.equal(judge(crowded({ ...late, ...refused }), SLO).verdict, 'fail', 'answers of the target')
    const unanswered = { completed: 900, ok: 900, success_ratio: 0.9, status: { 201: 900 }, rows_stored: 900 }
    t.equal(
      judge(crowded({ ...unanswered, errors: { 'client:timeout': 100 } }), SLO).verdict,
      'fail',
      'no answer at all',
    )
  },
)

t.test('an open loop whose generator used all of its core says nothing of the target', async (t) => {
  const busy = (/** @type {object} */ traffic, main_core_ratio = 0.98, load = {}) => {
    const record = trial(traffic, 0.03)
    Object.assign(record.probes.generator, { cpu_core_ratio: 1.1, main_core_ratio })
    return { ...record, load: { ...record.load, driver: 'paced', ...load } }
  }
  const late = { latency_ms: { p99: 110 } }
  const { verdict, blame, because } = judge(busy(late), SLO)
  t.strictSame([verdict, blame], ['invalid', 'generator'])
  t.ok(DETECTORS['generator-cpu'](busy(late), SLO).reach >= 1, 'and it is the limit that is named')
  t.match(because, /^the generator used 98 % of a core in one thread, .* \(p99 110 ms > 100 ms\)$/)
  t.equal(judge(busy({}), SLO).verdict, 'pass', 'it only adds to latency')
  t.equal(judge(busy(late, 0.94), SLO).verdict, 'fail', 'it had time left')
  t.equal(judge(busy(late, 1, { driver: 'vegeta' }), SLO).verdict, 'fail', 'which has more than one thread')
  const refused = { ok: 900, success_ratio: 0.9, status: { 201: 900, 503: 100 }, rows_stored: 900 }
  t.equal(judge(busy({ ...late, ...refused }), SLO).verdict, 'fail', 'refusals are the answers of the target')
})

t.test('a core that an unpinned service may use, too, is not said to be filled by the generator', async (t) => {
  const record = trial({ latency_ms: { p99: 400 } })
  const core = { busy_ratio: 0.96, interrupts_ratio: 0, steal_ratio: 0 }
  Object.assign(record.probes, {
    api: { cpu_core_ratio: 1.2, main_core_ratio: 0.35 },
    kernel: { cores: { 0: core, 1: core } },
  })
  record.target = { kind: 'url', cores: null }
  Object.assign(record.probes.generator, { cpu_core_ratio: 0.4, cores: '0-1' })
  t.equal(judge(record, SLO).verdict, 'fail')
  record.probes.postgres = { cpu_core_ratio: 0.15, cores: '0-1' }
  t.equal(judge(record, SLO).verdict, 'fail', 'whether Postgres is looked at changes nothing')
})

t.test('errors of one entry are not blamed on a generator that was slightly late', async (t) => {
  const entries = { p99_ms: 100, success_ratio: 0.99, by_entry: { export: { success_ratio: 0.99 } } }
  const of = (/** @type {object} */ errors) => {
    const by_entry = { export: { completed: 475, ok: 475, failed: 25 } }
    return trial({ planned: 10_000, ok: 9975, success_ratio: 0.9975, rows_stored: null, errors, by_entry }, 12)
  }
  t.equal(judge(of({ 'server:reset': 25 }), entries).verdict, 'fail', 'broken connections')
  t.equal(
    judge(of({ 'client:timeout': 25 }), entries).verdict,
    'fail',
    'and timeouts, which are longer than it was late',
  )
})

t.test('a backlog that grows is a fail, however fast the answers were', async (t) => {
  const growing = { backlog: Array.from({ length: 20 }, (_, i) => 10 * (i + 1)), latency_ms: { p99: 20 } }
  const load = { loop: 'open', rate_rps: 1000, duration_s: 2, timeout_s: 10 }
  const record = (/** @type {object} */ traffic) => /** @type {any} */ ({ ...trial(traffic), load })
  t.strictSame(judge(record(growing), SLO), {
    verdict: 'fail',
    because: 'the backlog grew, by 10.0 % of the rate: from 10 to 200 requests',
  })
  t.equal(judge(record({ ...growing, backlog: Array(20).fill(200) }), SLO).verdict, 'pass')
})

t.test(
  'a trial hardly longer than its responses take is invalid: it cannot tell a slow service from a growing queue',
  async (t) => {
    // What a service of 1,000/s leaves of 2,000/s in 0.3 s.
    const queue = { backlog: Array.from({ length: 20 }, (_, i) => 15 * (i + 1)), latency_ms: { p99: 298 } }
    const short = { loop: 'open', rate_rps: 2000, duration_s: 0.3, timeout_s: 10 }
    const record = (/** @type {object} */ load, traffic = queue) => /** @type {any} */ ({ ...trial(traffic), load })
    const slow = { ...SLO, p99_ms: 5000 }
    t.strictSame(judge(record(short), slow), {
      verdict: 'invalid',
      blame: 'unknown',
      because:
        'with a p99 of 298 ms, a trial of 300 ms is too short to tell slow answers from a growing queue: expected a --duration of 15.00 s, three times the p99 that the SLO allows',
    })
    t.equal(judge(record({ ...short, duration_s: 0.45 }), slow).verdict, 'invalid', 'most of it')
    t.equal(judge(record({ ...short, duration_s: 15 }), slow).verdict, 'fail', 'one that is long enough knows')
    const flat = { ...queue, backlog: Array(20).fill(300) }
    t.equal(judge(record({ ...short, duration_s: 0.9 }, flat), slow).verdict, 'pass')
    t.equal(judge(record({ ...short, arrivals: 'recorded' }), slow).verdict, 'pass', "in a log's rhythm it never tells")
    t.equal(judge(record(short), { success_ratio: 1, p99_ms: 10_000 }).verdict, 'pass', 'any answer within the timeout')
    t.equal(
      judge(record({ ...short, rate_rps: null, loop: 'closed' }), slow).verdict,
      'pass',
      'a closed loop has no backlog',
    )
  },
)

t.test('a verdict says what it rests on', async (t) => {
  const refused = { ok: 900, success_ratio: 0.9, status: { 201: 900, 503: 100 }, rows_stored: 900 }
  const rows = [
    [trial(), SLO, 'pass', 'p99 20 ms <= 100 ms, 1000 of 1000 stored'],
    [trial({ rows_stored: null }), SLO, 'pass', 'p99 20 ms <= 100 ms, 1000 of 1000 answered'],
    [trial({ latency_ms: { p99: 100.1 } }), SLO, 'fail', 'p99 100.1 ms > 100 ms'],
    [trial({ latency_ms: { p99: 100.0004 } }), SLO, 'fail', 'p99 100.0004 ms > 100 ms'],
    [trial({ latency_ms: { p99: 483.018 } }), SLO, 'fail', 'p99 483 ms > 100 ms'],
    [trial({ latency_ms: { p99: 2976.678 } }), SLO, 'fail', 'p99 2980 ms > 100 ms'],
    [trial({ latency_ms: { p99: 12.149 } }), SLO, 'pass', 'p99 12.1 ms <= 100 ms, 1000 of 1000 stored'],
    [trial({ latency_ms: { p99: 0.00123 } }), SLO, 'pass', 'p99 0.00123 ms <= 100 ms, 1000 of 1000 stored'],
    [trial({ latency_ms: null }), SLO, 'fail', 'p99 Infinity ms > 100 ms'],
    [trial(refused), SLO, 'fail', '900 of 1000 succeeded, 100 % expected; the others: 100 × 503'],
    [
      trial(refused),
      { ...SLO, success_ratio: 0.999 },
      'fail',
      '900 of 1000 succeeded, 99.9 % expected; the others: 100 × 503',
    ],
    [trial(refused), { ...SLO, success_ratio: 0.9 }, 'pass', 'p99 20 ms <= 100 ms, 900 of 1000 stored'],
  ]
  for (const [record, slo, verdict, because] of /** @type {[any, any, string, string][]} */ (rows)) {
    t.strictSame(judge(record, slo), { verdict, because })
  }
})

t.test('excuses count from exactly their bound', async (t) => {
  const p99 = (/** @type {number} */ p99) => ({ latency_ms: { p99 } })
  const broken = { ok: 990, success_ratio: 0.99, completed: 990, status: { 201: 990 }, rows_stored: 990 }
  const closedTimeouts = trial({ ...broken, errors: { 'client:timeout': 10 } }, null)
  closedTimeouts.probes.generator.cpu_core_ratio = 1
  const waiting = (/** @type {number} */ run_delay_ratio, /** @type {number | null} */ postgres, driver = 'paced') => {
    const { probes, load, ...record } = trial(p99(1340), 85)
    const generator = { ...probes.generator, cores: '1', cpu_core_ratio: 0.01, run_delay_ratio }
    const cores = { ...probes.kernel.cores, 1: { busy_ratio: 1, interrupts_ratio: 0, steal_ratio: 0 } }
    const busy = { generator, postgres: { cores: '1', cpu_core_ratio: postgres }, kernel: { ...probes.kernel, cores } }
    return { ...record, load: { ...load, driver }, probes: { ...probes, ...busy } }
  }
  const rows = [
    ['invalid', 'as late as is allowed', trial(p99(101), 10)],
    ['fail', 'less late', trial(p99(101), 9.9)],
    ['invalid', 'an excess of three times the lateness', trial(p99(160), 20)],
    ['fail', 'more than that', trial(p99(160.1), 20)],
    ['fail', 'as late as the SLO, which does not explain a queue', trial(p99(401), 100)],
    ['fail', 'a generator that waited for its core half of the time', waiting(0.51, 0.1)],
    ['invalid', 'one that waited nearly all of the time', waiting(0.98, 0.1)],
    ['fail', 'one that waited for Postgres nearly all of the time', waiting(0.98, 0.9)],
    ['fail', 'one that waited beside a Postgres whose CPU is unknown', waiting(0.98, null)],
    ['fail', 'one whose own process is not seen', waiting(0.98, 0.1, 'vegeta')],
    ['invalid', 'later than the SLO', trial(p99(401), 100.1)],
    ['invalid', 'a neighbour that uses 12 % of the core', trial(p99(101), 1, { steal: 0.12 })],
    ['fail', 'one that uses less', trial(p99(101), 1, { steal: 0.119 })],
    ['fail', 'timeouts of a closed loop with a full generator: it has no schedule', closedTimeouts],
    [
      'invalid',
      'connections that broke while the generator was 100 times as late as is allowed',
      trial({ ...broken, errors: { 'server:reset': 10 } }, 1000),
    ],
    ['fail', 'while it was less late', trial({ ...broken, errors: { 'server:reset': 10 } }, 999)],
    ['fail', 'timeouts beside a little lateness', trial({ ...broken, errors: { 'client:timeout': 10 } }, 11)],
    [
      'fail',
      'timeouts beside a p99 that this lateness would explain',
      trial({ ...broken, ...p99(150), errors: { 'client:timeout': 10 } }, 20),
    ],
    [
      'invalid',
      'timeouts beside more lateness than the SLO allows',
      trial({ ...broken, errors: { 'client:timeout': 10 } }, 500),
    ],
    [
      'fail',
      'a few refusals, which the SLO does not accept',
      trial({ ...p99(150), ok: 990, success_ratio: 0.99, status: { 201: 990, 503: 10 }, rows_stored: 990 }, 20),
    ],
    ['invalid', 'requests that were not sent', trial({ ...broken, errors: { 'client:unsent': 10 } }, 500)],
    [
      'fail',
      'a request that aged on its way, while the generator was a little late',
      trial({ ...broken, completed: 1000, status: { 201: 990, 408: 10 } }, 500),
    ],
    [
      'fail',
      'connections that broke beside a neighbour',
      trial({ ...broken, errors: { 'server:reset': 10 } }, 1, { steal: 0.5 }),
    ],
    [
      'invalid',
      'timeouts beside a neighbour',
      trial({ ...broken, errors: { 'client:timeout': 10 } }, 1, { steal: 0.5 }),
    ],
    [
      'invalid',
      'answers 408 alone are no refusals',
      trial({ ...broken, completed: 1000, status: { 201: 990, 408: 10 } }, 1000),
    ],
  ]
  for (const [verdict, about, record] of /** @type {[string, string, any][]} */ (rows)) {
    const outcome = judge(record, SLO)
    t.equal(outcome.verdict, verdict, `${about}: ${outcome.because}`)
  }
})

t.test('other programs excuse only what the service can have waited for its core', async (t) => {
  const beside = (/** @type {number | undefined} */ run_delay_ratio, traffic = {}, core = { others: 0.2 }) => {
    const record = trial({ latency_ms: { p99: 6000, max: 6000 }, ...traffic }, 1, core)
    Object.assign(record.probes.api, { run_delay_ratio })
    Object.assign(record.load, { duration_s: 2, rate_rps: 500 })
    return record
  }
  const soon = { latency_ms: { p99: 500, max: 500 } }
  const growing = { latency_ms: { p99: 50, max: 50 }, backlog: Array.from({ length: 20 }, (_, i) => 10 + 50 * i) }
  const rows = /** @type {[string, string, any][]} */ ([
    ['fail', 'a wait of 0.4 s at most, and answers after 6 s', beside(0.05)],
    ['invalid', 'a wait of 2 s, which may have slowed the service besides', beside(0.25)],
    ['invalid', 'a short wait, and answers hardly late', beside(0.06, soon)],
    ['fail', 'hardly any wait, and answers hardly late', beside(0.01, soon)],
    ['invalid', 'what the host took, which is no wait', beside(0, {}, /** @type {any} */ ({ steal: 0.3 }))],
    ['invalid', 'a wait that is not known', beside(undefined)],
    ['invalid', 'no answer at all', beside(0.05, { latency_ms: null })],
    ['fail', 'a backlog that grew by more than came in meanwhile', beside(0.02, growing)],
  ])
  for (const [verdict, about, record] of rows) {
    const outcome = judge(record, SLO)
    t.equal(outcome.verdict, verdict, `${about}: ${outcome.because}`)
  }
})

t.test('errors that the SLO accepts take no excuse away', async (t) => {
  const slo = { ...SLO, success_ratio: 0.95 }
  const late = { latency_ms: { p99: 150 }, ok: 970, success_ratio: 0.97, rows_stored: 970 }
  const refused = { ...late, status: { 201: 970, 404: 30 } }
  const lost = { ...late, completed: 970, status: { 201: 970 }, errors: { 'server:reset': 30 } }
  for (const traffic of [refused, lost]) {
    t.match(judge(trial(traffic, 20), slo), { verdict: 'invalid', blame: 'generator' })
    t.match(judge(trial(traffic, 1, { others: 0.2 }), slo), { verdict: 'invalid', blame: 'noise' })
    t.equal(judge(trial(traffic), slo).verdict, 'fail', 'without any')
    t.equal(judge(trial(traffic, 20), SLO).verdict, 'fail', 'and where the SLO does not accept them')
  }
})

t.test('lateness counts in proportion to the SLO, and for the p99 alone', async (t) => {
  const strict = { p99_ms: 5, success_ratio: 1 }
  t.equal(
    judge(trial({ latency_ms: { p99: 9 } }, 8.5), strict).verdict,
    'invalid',
    '8.5 ms late against an SLO of 5 ms',
  )
  const broken = trial({ ok: 0, success_ratio: 0, status: { 500: 1000 }, rows_stored: 0 }, 50)
  t.equal(judge(broken, SLO).verdict, 'fail', 'a server that answers 500 is broken, however late it was asked')
})

t.test('of several load hosts, one that falls behind is named, and makes the trial invalid', async (t) => {
  const host = (/** @type {string} */ name, /** @type {object} */ found) => {
    const fine = {
      host: name,
      planned: 500,
      sent: 500,
      errors: {},
      lateness_ms: { p99: 1 },
      start_ms: 20,
      word_ms: 30,
      cpu_core_ratio: 0.3,
    }
    return { ...fine, cores: 2, ...found }
  }
  const of = (/** @type {object} */ b, traffic = {}) => {
    const record = trial({ hosts: [host('u@a', {}), host('u@b', b)], ...traffic })
    return { ...record, load: { ...record.load, duration_s: 10 } }
  }
  const because = (/** @type {any} */ record) => judge(record, SLO).because
  t.equal(judge(of({}), SLO).verdict, 'pass')
  const late = of({ lateness_ms: { p99: 800 }, sent: 400 })
  t.match(judge(late, SLO), { verdict: 'invalid', blame: 'generator' }, 'although its p99 is within the SLO')
  t.match(because(late), /^u@b was 800 ms late at p99 \(the other load hosts went on/)
  const alone = { ...late, traffic: { ...late.traffic, hosts: late.traffic.hosts.slice(1) } }
  t.equal(judge(alone, SLO).verdict, 'pass', 'of one host alone it only adds to latency, as of this machine')
  t.match(because(of({ start_ms: 1100 })), /^u@b began 1.10 s late/)
  t.equal(judge(of({ start_ms: 900 }), SLO).verdict, 'pass', 'less than a tenth of the trial')
  t.equal(judge(of({ start_ms: 1000 }), SLO).verdict, 'invalid', 'a tenth')
  const full = of({ cpu_core_ratio: 2 })
  const saturated = { ...full, load: { ...full.load, loop: 'closed' } }
  t.equal(judge(saturated, SLO).verdict, 'pass', 'a closed loop has no schedule to be behind')
  t.match(
    judge(of({ word_ms: 1130 }), SLO),
    { verdict: 'invalid', blame: 'generator' },
    'a word that was long on its way',
  )
  t.match(because(of({ word_ms: 1130 })), /^u@b began 1.12 s late/)
  t.equal(judge(of({ word_ms: 930 }), SLO).verdict, 'pass')
  t.equal(judge(of({}, { latency_ms: { p99: 400 } }), SLO).verdict, 'fail')
  const ports = of({ errors: { 'client:ports': 3 } }, { errors: { 'client:ports': 3 } })
  t.equal(because(ports), "errors that are not the target's: 3 client:ports (on u@b)")
})

t.test('judge', async (t) => {
  for (const [verdict, about, record] of /** @type {[string, string, any][]} */ (rows)) {
    const outcome = judge(record, SLO)
    t.equal(outcome.verdict, verdict, `${verdict}: ${about} (${outcome.because})`)
  }
})

t.test('a late generator excuses a backlog only as far as the lateness goes', async (t) => {
  // 10,000/s offered to a service of 9,800/s: after 2 s, the last request waits for 41 ms.
  const backlog = Array.from({ length: 20 }, (_, i) => 20 * (i + 1))
  const growing = (/** @type {number} */ lateness_ms) => {
    const record = trial(
      { planned: 20_000, sent: 20_000, ok: 20_000, completed: 20_000, latency_ms: { p99: 45 }, backlog },
      lateness_ms,
    )
    const traffic = { ...record.traffic, rows_stored: 20_000, status: { 201: 20_000 } }
    return { ...record, load: { ...record.load, rate_rps: 10_000, duration_s: 2, timeout_s: 10 }, traffic }
  }
  t.match(judge(growing(10), SLO), { verdict: 'fail', because: /^the backlog grew, by 2\.0 % of the rate/ })
  t.match(judge(growing(20), SLO), { verdict: 'invalid', blame: 'generator' })
})
