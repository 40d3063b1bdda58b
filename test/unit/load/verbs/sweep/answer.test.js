import t from 'tap'
import { markdownOf } from '../../../../../load/report/markdown.js'
import { costNear, nearCapacity, sweepItems, sweepSentence } from '../../../../../load/verbs/sweep/answer.js'
import { entryBlocks } from '../../../../../load/verbs/sweep/entries.js'

const plan = { slo: { p99_ms: 100, success_ratio: 1 }, url: null }
const capacity = { low_rps: 1000, high_rps: 1100, trials: 4, confidence: 0.9 }

/** A passing trial of a search. @param {number} cpu_us_per_request @param {number} [work_ms] */
function record(cpu_us_per_request, work_ms) {
  return {
    ...{ at: { phase: 'search' }, cell: null, outcome: { verdict: 'pass' }, traffic: { goodput_rps: 1000 } },
    target: { kind: 'local', cores: '0' },
    load: { rate_rps: 1000, duration_s: 2, warmup_s: 0.5 },
    probes: { api: { cpu_us_per_request }, kernel: {}, generator: {}, postgres: {} },
    ...(work_ms && { work_ms }),
  }
}

/** @param {object} findings */
function textsOf(findings) {
  const items = sweepItems(/** @type {any} */ ({ plan, capacity, limit: null, records: [], ...findings }))
  return items.map((item) => (typeof item === 'string' ? item : item.text))
}

t.test('a capacity without an upper end says whether more was offered', async (t) => {
  const bounded = { low_rps: 980, high_rps: null, trials: 6, confidence: null, bounded_by: 'it was late' }
  const unjudged = (/** @type {string} */ blame, rate_rps = 1050) => ({
    ...record(20),
    load: { ...record(20).load, rate_rps },
    outcome: { verdict: 'invalid', because: 'it was late', blame },
  })
  const [none] = textsOf({ capacity: bounded, records: [record(20), unjudged('generator')] })
  t.match(none, /^Capacity: at least 980\/s: more than that could not be offered, since it was late \(p99 below/)
  const [few] = textsOf({ capacity: bounded, records: [record(20), unjudged('noise', 990), unjudged('noise')] })
  t.match(
    few,
    /^Capacity: at least 980\/s; at 990\/s and above, too few trials could be judged: it was late \(p99 below/,
  )
  const [all] = textsOf({ capacity: bounded, records: [record(20), unjudged('noise')] })
  t.match(all, /^Capacity: at least 980\/s; at 1,050\/s and above, no trial could be judged: it was late \(p99 below/)
  const judged = (/** @type {number} */ rate_rps, verdict = 'fail') => ({
    ...record(20),
    load: { ...record(20).load, rate_rps },
    outcome: { verdict, ...(verdict === 'invalid' && { because: 'it was late', blame: 'generator' }) },
  })
  const [late] = textsOf({ capacity: bounded, records: [judged(1050, 'invalid'), judged(1020)] })
  t.match(late, 'more than that could not be offered', 'a rate below that which could not be judged does not bound it')
  const records = [judged(1370), judged(1050, 'invalid'), judged(1120), judged(900)]
  const [some] = textsOf({ capacity: bounded, records })
  t.match(
    some,
    /^Capacity: at least 980\/s: 1,120\/s failed, and between these two, no trial could be judged, since it was late /,
  )
  const [passed] = textsOf({ capacity: bounded, records: [judged(1000, 'pass'), ...records] })
  t.match(passed, 'between these two, too few trials could be judged', 'a trial between them passed')
})

t.test('unlike costs of a request are not blamed on the machine: its speed was measured', async (t) => {
  const records = [record(20, 4), record(30, 4.1), record(40, 4.2)]
  const [, , cost, speed] = textsOf({ records })
  t.equal(
    cost,
    'A request cost the service 30.0 us of CPU near the capacity (median of 3 trials within 15 % of it; 20.0 to 40.0 us).',
  )
  t.equal(
    speed,
    "Speed of the service's core: before the trials, a fixed piece of work usually took 4.1 ms (it ranged from 4.0 to 4.2 ms).",
  )
  const other = textsOf({ records: [...records, { ...record(40, 8), trial: 9 }] })[3]
  t.match(other, /it ranged from 4\.0 to 8\.0 ms\)\. Trial 9 did not count: the core's speed was unusual\.$/)
  const two = [8, 9].map((trial) => ({ ...record(40, 8), trial }))
  t.match(textsOf({ records: [...records, record(20, 4), ...two] })[3], /\. Trials 8 and 9 did not count: the core/)
  t.equal(textsOf({ records: [record(20), record(30)] }).length, 3, 'the speed was not measured')
  const beside = records.map((one) => ({ ...one, target: { kind: 'url', cores: null } }))
  t.match(textsOf({ records: beside })[3], /^Speed of this machine's cores: before the trials, .* took 4\.1 ms/)
})

t.test('the median of an even number of costs is the mean of the middle two', async (t) => {
  const records = /** @type {any} */ ([record(20), record(60), record(30), record(40)])
  t.strictSame(costNear({ capacity, records }), { least_us: 20, median_us: 35, most_us: 60, trials: 4 })
})

t.test('the report says that a service closes its connections, unless the load does', async (t) => {
  const closed = (/** @type {number[]} */ ...counts) =>
    counts.map((closings) => ({ ...record(20), traffic: { goodput_rps: 1000, completed: 100, closings } }))
  const said = (/** @type {any[]} */ records, own = {}) =>
    textsOf({ records, plan: { ...plan, ...own } }).filter((text) => /closed the connection/.test(text))
  const [text, ...others] = said(closed(90, 100, 98))
  t.match(
    text,
    /^After 98 % of its answers, the service \(or a proxy before it\) closed the connection, so the next request/,
  )
  t.match(text, /for a new one\. With connections kept open, the capacity may be higher\.$/)
  t.strictSame(others, [])
  t.match(said(closed(100), { url: 'https://127.0.0.1/' })[0], 'for a new one, with a full TLS handshake. With')
  t.strictSame(said(closed(4, 4, 100)), [], 'seldom')
  t.strictSame(said([record(20)]), [], 'by a driver that does not count')
  t.strictSame(said(closed(100), { fresh_connections: true }), [], 'with --no-keep-alive')
  t.strictSame(said(closed(100).map((one) => ({ ...one, traffic: { completed: 0, closings: 0 } }))), [], 'no answer')
})

t.test('figures near the capacity exclude the trials of a proof and those at another core speed', async (t) => {
  const usual = [record(20, 4), record(21, 4), record(22, 4)]
  const dosed = { ...record(50), at: { phase: 'proof' }, doses: [] }
  t.strictSame(nearCapacity(capacity, /** @type {any} */ ([...usual, dosed, record(50, 8)])), usual)
})

t.test('nothing is promised without a trustworthy answer', async (t) => {
  const promises = (/** @type {object} */ findings) =>
    textsOf({ records: [record(20)], ...findings }).filter((text) => /promise/.test(text)).length
  t.equal(promises({ problem: null }), 1)
  t.equal(promises({ problem: 'the trials contradict each other' }), 0)
})

t.test('a core of its own for the generator is advised where its core is what limits', async (t) => {
  const shared = {
    postgres: { cores: '1' },
    generator: { cores: '1', cpu_core_ratio: 0.5 },
    kernel: { cores: { 1: { busy_ratio: 0.95, interrupts_ratio: 0, steal_ratio: 0 } } },
  }
  const records = [record(20), record(30)].map(({ probes, ...one }) => ({ ...one, probes: { ...probes, ...shared } }))
  const rows = /** @type {[string, boolean][]} */ ([
    ['postgres-cpu', true],
    ['generator-cpu', true],
    ['api-cpu', false],
  ])
  for (const [resource, isAdvised] of rows) {
    const limit = { resource, evidence: [], runner_up: null, runner_up_evidence: [], confirmed: null }
    const text = textsOf({ records, limit }).join('\n')
    t.match(text, 'the generator took 50 % of it.', resource)
    t.equal(text.includes('can raise the capacity by up to 100 %'), isAdvised, resource)
  }
})

t.test('whether the limit is confirmed, by relaxing or by the proof', async (t) => {
  const service = { suspect: 'core 0', resource: 'api-cpu', elasticity: 0.6, low: -0.1, high: 1.3, pairs: 6 }
  const rows = /** @type {[object, RegExp, string][]} */ ([
    [{ confirmed: true }, /^Confirmed: relaxing this limit raised the throughput\.$/, 'it moved'],
    [
      { confirmed: true, elasticities: [{ ...service, low: 0.2 }] },
      /^Confirmed: slowing core 0 by 10 % costs 6 % \[2–13\]\.$/,
      'proven',
    ],
    [
      { confirmed: true, elasticities: [service] },
      /^Confirmed: relaxing this limit, or slowing .*, moved the throughput\.$/,
      'the record does not say by what',
    ],
    [{ confirmed: false, elasticities: [service] }, /^Not confirmed: relaxing or slowing it did not/, 'refuted'],
    [{ confirmed: false }, /^Not confirmed: relaxing it did not raise the throughput\.$/, 'it did not'],
    [{ confirmed: null }, /^Not confirmed: Redline has no setting/, 'nothing was tried'],
    [
      { confirmed: null, elasticities: [service] },
      /the proof could not tell it from the other suspects\.$/,
      'undecided',
    ],
    [
      { confirmed: null, elasticities: [{ ...service, undosed: true }] },
      /no setting that would lift it/,
      'nothing was slowed',
    ],
    [
      { confirmed: null, resource: 'nofile', elasticities: [service] },
      /no setting that would lift it/,
      'slowing does not test it',
    ],
  ])
  for (const [{ elasticities, ...of }, expected, about] of /** @type {any[]} */ (rows)) {
    const limit = { resource: 'api-cpu', evidence: [], runner_up: null, runner_up_evidence: [], ...of }
    const texts = textsOf({ limit, elasticities })
    t.match(
      texts.find((text) => /onfirmed/.test(text)),
      expected,
      about,
    )
  }
})

t.test('a confirmed limit says what moved the throughput, and by how much', async (t) => {
  const one = (/** @type {string} */ suspect, /** @type {string} */ resource, rest = {}) => {
    return { suspect, resource, elasticity: 0.5, low: 0.2, high: 0.9, pairs: 6, ...rest }
  }
  const elasticities = [
    one('Postgres', 'postgres-cpu'),
    one('core 0 (the service)', 'api-cpu'),
    one('the generator', 'generator-cpu', { low: -0.1 }),
    one('POOL_MAX x 4', 'pool-size', { factor: 4 }),
  ]
  const relaxing = (/** @type {object | null} */ cell, /** @type {string} */ verdict, goodput_rps = 1000) => ({
    ...record(20),
    ...{ at: { phase: 'relax' }, cell, outcome: { verdict }, settings: {} },
    ...{ load: { ...record(20).load, rate_rps: 1500 }, traffic: { goodput_rps } },
  })
  const HEAP = { HEAP: 'large' }
  const search = { ...record(20), settings: {} }
  const relaxed = [search, relaxing(null, 'fail'), relaxing(HEAP, 'pass', 1500), relaxing(HEAP, 'fail', 1300)]
  const rows = /** @type {[string, string, any[], string][]} */ ([
    ['the suspect', 'postgres-cpu', [], 'slowing Postgres by 10 % costs 5 % [2–9].'],
    [
      'that stands for a more specific limit',
      'api-blocked',
      [],
      'slowing core 0 (the service) by 10 % costs 5 % [2–9].',
    ],
    ['a pool', 'pool-size', [], 'POOL_MAX x 4 gains 100 % [32–248] (elasticity 0.5).'],
    [
      'all that take turns',
      'lock-step',
      [],
      'slowing Postgres by 10 % costs 5 % [2–9]; slowing core 0 (the service) by 10 % costs 5 % [2–9].',
    ],
    [
      'relaxing, too',
      'api-gc',
      [...relaxed.slice(0, 2), relaxing(HEAP, 'pass', 1500), relaxing(HEAP, 'pass', 1500)],
      'with HEAP=large, 2 of 2 trials at 1,500/s met the SLO (without it, 0 of 1), and 1,500/s instead of 1,000/s succeeded; slowing core 0 (the service) by 10 % costs 5 % [2–9].',
    ],
    [
      'but not if it did not help',
      'api-gc',
      relaxed.slice(0, 2),
      'slowing core 0 (the service) by 10 % costs 5 % [2–9].',
    ],
  ])
  for (const [name, resource, records, expected] of rows) {
    const limit = { resource, evidence: [], runner_up: null, runner_up_evidence: [], confirmed: true }
    t.ok(textsOf({ limit, elasticities, records }).includes(`Confirmed: ${expected}`), name)
  }
})

t.test('two limits that matter alike are a tie, by the proof or by the trials', async (t) => {
  const limit = { resource: 'api-cpu', evidence: [], runner_up: 'postgres-cpu', runner_up_evidence: [], kind: 'tie' }
  const said = (/** @type {boolean | null} */ confirmed) =>
    textsOf(/** @type {any} */ ({ limit: { ...limit, confirmed } }))
  t.match(said(true).join(' '), 'By the proof, postgres-cpu limits the throughput as much.')
  t.match(said(null).join(' '), 'The trials named postgres-cpu as often.')
})

t.test('an entry of a mix that was never sent has no success ratio', async (t) => {
  const by_entry = {
    often: { completed: 10, ok: 9, failed: 0, latency_ms: { p50: 1, p99: 2 } },
    rare: { completed: 0, ok: 0, failed: 0, latency_ms: null },
  }
  const load = { loop: 'open', rate_rps: 100, connections: 4 }
  const record = /** @type {any} */ ({
    trial: 1,
    cell: null,
    load,
    outcome: { verdict: 'pass' },
    traffic: { by_entry },
  })
  const text = markdownOf(entryBlocks([record]))
  t.match(text, /\| often \| +10 \| +90\.00 % \|/)
  t.match(text, /\| rare +\| +0 \| +– \| +– \| +– \|/)
})

t.test('a limit that cannot be seen is not reported as no limit, and comes with a next step', async (t) => {
  const limit = { resource: 'none-reached', evidence: [], runner_up: null, runner_up_evidence: [], confirmed: null }
  const url = { plan: { ...plan, url: 'http://127.0.0.1/' } }
  const dosed = (/** @type {string} */ suspect, /** @type {number | null} */ low, high = 0.2) => {
    return { suspect, resource: 'x-cpu', elasticity: 0.05, low, high, pairs: 6 }
  }
  const still = [dosed('core 0 (the service)', -0.1), dosed('the generator', 0)]
  const unseen = 'trials missed the SLO, but no resource that can be seen was at its limit.'
  const outside = 'what limits it is not visible from outside.'
  const waits =
    'slowing core 0 (the service) or the generator costs little or nothing, so requests wait for something that Redline cannot see: a lock, a timer, a queue of one, or another service.'
  const three =
    'slowing core 0 (the service), the generator or Postgres costs little or nothing, so requests wait for something'
  const rows = /** @type {[string, object, string][]} */ ([
    ['our own API', {}, unseen],
    ['a URL', url, outside],
    ['a complete proof', { ...url, elasticities: still }, waits],
    ['of three suspects', { elasticities: [...still, dosed('Postgres', 0)] }, three],
    ['an enlarged pool is not slowed', { elasticities: [...still, { ...dosed('POOL_MAX x 4', 0), factor: 4 }] }, waits],
    ['an incomplete proof', { ...url, elasticities: [...still, dosed('Postgres', null)] }, outside],
    ['one that did not exclude a suspect', { elasticities: [...still, dosed('Postgres', 0, 0.6)] }, unseen],
    ['a suspect that moved the throughput', { elasticities: [...still, dosed('Postgres', 0.1)] }, unseen],
    ['a test without doses', { elasticities: still.map((one) => ({ ...one, undosed: true })) }, unseen],
  ])
  for (const [name, findings, expected] of rows) {
    const texts = textsOf({ limit, ...findings })
    t.match(
      texts.find((text) => /^Limit:/.test(text)),
      `Limit: not found (none-reached): ${expected}`,
      name,
    )
    t.ok(texts.some((text) => /^What to change next: find out what requests wait for.*#none-reached/.test(text)))
  }
  const [, ...without] = textsOf({ limit, capacity: { ...capacity, high_rps: null } })
  t.match(without[0], /^Limit: none-reached: no limit was reached\./)
  t.notMatch(without.join(), 'What to change next')
  const sentence = sweepSentence(/** @type {any} */ ({ plan, capacity, limit, records: [] }))
  t.equal(sentence, `Capacity: 1,000 to 1,100/s. Limit: not found (none-reached): ${unseen}`)
})

t.test('a service that refuses what is too much at once does not make requests wait', async (t) => {
  const limit = { resource: 'none-reached', evidence: [], runner_up: null, runner_up_evidence: [], confirmed: null }
  const beyond = (/** @type {object} */ status, p99 = 4, ok = 900) => ({
    ...record(20),
    load: { ...record(20).load, rate_rps: 1100 },
    outcome: { verdict: 'fail' },
    traffic: { planned: 1000, ok, status, errors: {}, latency_ms: { p99 } },
  })
  const saidOf = (/** @type {object[]} */ records) =>
    textsOf({ limit, plan: { ...plan, url: 'http://[::1]/' }, records })
  const said = saidOf([beyond({ 200: 900, 503: 100 }), beyond({ 200: 900, 503: 95, 429: 5 }), beyond({ 200: 900 })])
  const refused = 'Limit: not found (none-reached): requests do not wait, they are refused (status 503, 429).'
  t.ok(
    said.some((text) => text.startsWith(refused)),
    said.join(' '),
  )
  t.ok(said.some((text) => text.startsWith('What to change next: find out what refuses them, such as a rate limit')))
  for (const [name, other] of Object.entries({
    'refused late, after a wait': beyond({ 200: 900, 503: 100 }, 400),
    'most are lost in other ways': beyond({ 200: 900, 503: 20 }),
    'all are answered, but late': beyond({ 200: 1000 }, 400, 1000),
  })) {
    t.match(saidOf([other, beyond({ 200: 900, 503: 100 })]).join(' '), 'not visible from outside', name)
  }
})

t.test(
  'a service without a core of its own that failed beside other programs may have a higher capacity',
  async (t) => {
    const trial = (number = 1, rate_rps = 1000, verdict = 'pass', busy_ratio = 0.5) => ({
      ...record(20),
      ...{ trial: number, target: { kind: 'url', cores: null, url: 'http://[::1]/' }, outcome: { verdict } },
      load: { ...record(20).load, loop: 'open', rate_rps },
      probes: {
        api: { cpu_core_ratio: 0.1 },
        generator: { cpu_core_ratio: 0.2 },
        postgres: {},
        kernel: { cores: { 0: { busy_ratio }, 1: { busy_ratio } } },
      },
      traffic: { goodput_rps: 1000, success_ratio: 1, latency_ms: { p99: 500 }, planned: 1, ok: 1, status: {} },
    })
    const saidOf = (/** @type {any[]} */ ...records) => {
      return textsOf({ records }).find((text) => text.startsWith('Other programs'))
    }
    const passed = trial(1, 1000)
    t.equal(
      saidOf(passed, trial(2, 1000, 'fail', 0.97), trial(3, 900, 'fail', 0.99)),
      "Other programs may have failed 2 trials, so the capacity's upper end is the higher of two estimates: with and without them. All cores were busy, and in trial 3, programs other than the generator and the service used 1.68 cores; trial 1 passed at a higher rate while they used 0.70.",
    )
    t.equal(saidOf(passed, trial(2, 1100, 'fail', 0.99)), undefined, 'a higher rate needs more')
    t.equal(saidOf(passed, trial(2, 1000, 'fail', 0.8)), undefined, 'some core was idle')
    t.equal(
      saidOf(trial(1, 1000, 'pass', 0.95), trial(2, 1000, 'fail', 0.99)),
      undefined,
      'other programs were as busy when it passed',
    )
    const pinned = [passed, trial(2, 1000, 'fail', 0.99)].map((one) => ({
      ...one,
      target: { kind: 'started', cores: '0' },
    }))
    t.equal(saidOf(...pinned), undefined, 'on a core of its own, others make a trial invalid')
    const unwatched = [passed, trial(2, 1000, 'fail', 0.99)].map((one) => ({
      ...one,
      probes: { ...one.probes, api: {} },
    }))
    t.match(saidOf(...unwatched), 'estimates: with and without it. All')
    t.match(saidOf(...unwatched), 'programs other than the generator used 1.78 cores; trial 1 passed at the same rate')
    const away = unwatched.map((one) => ({ ...one, target: { ...one.target, url: 'http://10.0.0.5/' } }))
    t.equal(saidOf(...away), undefined, 'a service on another machine')
  },
)

t.test('a rate limit that allows bursts is recognised by what it lets through in trial after trial', async (t) => {
  const refusing = (rate_rps = 1100, ok = 1004, p99 = 4) => ({
    ...record(20),
    load: { ...record(20).load, loop: 'open', rate_rps },
    outcome: { verdict: 'fail' },
    traffic: {
      ...{ planned: 2 * rate_rps, ok, status: { 200: ok, 429: 2 * rate_rps - ok }, errors: {}, latency_ms: { p99 } },
      ...{ goodput_rps: ok / 2, success_ratio: ok / (2 * rate_rps) },
    },
  })
  const saidOf = (/** @type {object[]} */ records) => {
    const texts = textsOf({ records })
    const said = texts.find((text) => text.startsWith('Whatever was offered'))
    t.equal(
      texts.some((text) => text.startsWith('Safe to promise')),
      !said,
      'more than that rate is not promised',
    )
    return said
  }
  t.equal(
    saidOf([refusing(1100), refusing(1500, 1012), refusing(2000, 1006), refusing(1100, 1600)]),
    'Whatever was offered, about 505/s were let through in most trials with refused requests, which is less than the capacity. So a burst is allowed beyond that rate, and the trials that passed were too short to use it up: expect about 505/s to last.',
  )
  t.equal(saidOf([refusing(), refusing()]), undefined, 'too few')
  t.equal(saidOf([2000, 2010, 2020].map((ok) => refusing(1100, ok))), undefined, 'what is let through is the capacity')
  t.equal(saidOf([800, 1000, 1200, 1400].map((ok) => refusing(1100, ok))), undefined, 'not the same at all rates')
  t.equal(saidOf([1000, 1000, 1000].map((ok) => refusing(1100, ok, 400))), undefined, 'requests that wait as well')
})

t.test('if every long trial failed before the search ended, the report promises no rate', async (t) => {
  const long = (rate_rps = 1100, verdict = 'fail') => ({
    ...record(20),
    at: { phase: 'search', purpose: 'confirm' },
    load: { ...record(20).load, loop: 'open', rate_rps, duration_s: 8 },
    outcome: { verdict },
    traffic: { goodput_rps: 1000, success_ratio: 1, latency_ms: { p99: 500 }, planned: 1, ok: 1, status: {} },
  })
  const saidOf = (/** @type {any[]} */ ...records) => {
    const texts = textsOf({ records })
    const said = texts.find((text) => text.startsWith('None of'))
    t.equal(
      texts.some((text) => text.startsWith('Safe to promise')),
      !said,
      'and nothing is promised',
    )
    return said
  }
  t.equal(
    saidOf(long(), long(), long(1050), long(1050)),
    'None of the 4 trials that lasted 8 s passed (at 1,050 to 1,100/s), and the search ended before a lower rate was tried for so long. So no rate is known to last: try --sustained.',
  )
  t.match(saidOf(long(), long(), long(1000, 'invalid')), 'None of the 2 trials that lasted 8 s passed (at 1,100/s)')
  t.equal(saidOf(long(), long(), long(1000, 'pass')), undefined, 'one passed')
  t.equal(saidOf(long()), undefined, 'a single failure rules no rate out')
})
