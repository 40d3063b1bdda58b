import t from 'tap'
import { failureText } from '../../../../load/capacity/advice.js'
import { answerOf, nextStep } from '../../../../load/capacity/capacity.js'
import { COLD_WARMUP_S } from '../../../../load/capacity/ladder.js'
import { recordsOf } from '../../../support/simulated/records.js'
import { createService } from '../../../support/simulated/service.js'

const SLO = { p99_ms: 100, success_ratio: 1 }
const PLAN = /** @type {any} */ ({
  driver: 'paced',
  url: null,
  mix: { method: 'POST' },
  connections: [64],
  warmup_s: 0.5,
  duration_s: 2,
  slo: SLO,
  searches: true,
  confirms: true,
})

/**
 * A target with a capacity, and a pool that is its limit: what a run with it looks like, trial by trial.
 * @param {{ capacity_rps?: number, later_rps?: number, relaxed_rps?: number, resource?: string, runner_up?: string | null, plan?: any, given?: any[] }} options later_rps: its
 *   capacity after the search
 */
function runOf({
  capacity_rps = 1000,
  later_rps = capacity_rps,
  relaxed_rps = later_rps,
  resource = 'pool-size',
  runner_up = null,
  plan = PLAN,
  given = [],
}) {
  const serve = createService(({ at, cell }) => ({
    capacity_rps: cell !== null ? relaxed_rps : /^relax/.test(at.phase) ? later_rps : capacity_rps,
    least_ms: 10,
  }))
  const change = (/** @type {any} */ record) => {
    const { cell, outcome, settings } = record
    const limit = outcome.verdict === 'fail' ? { resource, runner_up } : { resource: 'none-reached', runner_up: null }
    return {
      ...record,
      settings: { ...settings, POOL_MAX: Number(cell?.POOL_MAX ?? 2), NOFILE: 64 },
      limit: { ...limit, evidence: ['made up'], runner_up_evidence: [], confirmed: null },
    }
  }
  return recordsOf(plan, nextStep, serve, { given, change })
}

/** @param {any[]} records @param {string} phase */
function of(records, phase) {
  return records.filter(({ at }) => at.phase === phase)
}

t.test(
  'a plateau comes first: more connections until they bring nothing, then more than they got through',
  async (t) => {
    const plateau = of(runOf({}), 'plateau')
    const closed = plateau.filter(({ load }) => load.loop === 'closed')
    t.strictSame(
      closed.map(({ load }) => load.connections),
      [2, 8, 32, 64],
    )
    t.ok(closed[0].load.warmup_s > closed[1].load.warmup_s, 'the first one warms up a cold target')
    t.strictSame(
      plateau.slice(closed.length).map(({ load, traffic }) => [load.driver, load.rate_rps, traffic.goodput_rps]),
      [['paced', 2000, 1000]],
    )
  },
)

t.test('no closed loop or overload of a search has more connections than the pinned number', async (t) => {
  const rows = /** @type {[number, number[]][]} */ ([
    [1, [1]],
    [4, [2, 4]],
    [32, [2, 8, 32]],
    [1000, [2, 8, 32, 128, 512]],
  ])
  for (const [pinned, expected] of rows) {
    const plan = { ...PLAN, connections: [pinned] }
    // Fast enough for each rung to bring more than the one before.
    const records = runOf({ capacity_rps: 1_000_000, plan })
    const plateau = of(records, 'plateau').map(({ load }) => load)
    const closed = plateau.filter(({ loop }) => loop === 'closed')
    t.strictSame(
      closed.map(({ connections }) => connections),
      expected,
      `${pinned}`,
    )
    t.ok(
      records.every(({ load }) => load.connections <= pinned),
      `${pinned}: no trial has more`,
    )
  }
  const free = runOf({ capacity_rps: 1_000_000, plan: { ...PLAN, connections: [], connections_max: 20_000 } })
  t.ok(
    of(free, 'plateau').some(({ load }) => load.connections === 512),
    'unless none is pinned',
  )
})

t.test(
  'a closed loop that got little through is a bad guess: what is offered doubles until the target is behind',
  async (t) => {
    const rung = (/** @type {number} */ connections) => {
      return { load: { loop: 'closed', connections }, traffic: { goodput_rps: 100 } }
    }
    const offered = (/** @type {number} */ rate_rps, /** @type {number} */ goodput_rps, verdict = 'fail') => {
      return { load: { loop: 'open', rate_rps, connections: 512 }, traffic: { goodput_rps }, outcome: { verdict } }
    }
    const next = (/** @type {object[]} */ ...overloads) => {
      const records = [rung(2), rung(8), ...overloads].map((one) => {
        return { at: { phase: 'plateau' }, cell: null, outcome: { verdict: 'pass' }, ...one }
      })
      const { at, load } = nextStep(PLAN, /** @type {any} */ (records)) ?? {}
      return `${at?.phase} ${load?.rate_rps}`
    }
    t.equal(next(), 'plateau 200')
    t.equal(next(offered(200, 195)), 'plateau 390', 'it kept up')
    t.equal(next(offered(200, 150)), 'search 105', 'it did not: 0.7 of what it served')
    t.equal(next(offered(200, 195, 'invalid')), 'search 70', 'an invalid one is no guess')
    t.equal(next(offered(200, 200), offered(400, 400), offered(800, 800)), 'search 560', 'three are enough')
  },
)

t.test('then the search, in an open loop, and an interval around the capacity', async (t) => {
  const records = runOf({})
  const { capacity, problem } = answerOf(PLAN, records)
  t.equal(problem, null)
  t.match(capacity, { trials: Number, confidence: Number, slo: SLO })
  // At 979/s a request waits 23 ms on the average, and p99 meets 100 ms.
  t.ok(Number(capacity?.low_rps) <= 979 && Number(capacity?.high_rps) >= 979, JSON.stringify(capacity))
  t.ok(Number(capacity?.high_rps) / Number(capacity?.low_rps) < 1.15)
})

t.test(
  'the target starts again before the first trial at an edge, but not before the one that confirms the answer',
  async (t) => {
    const records = runOf({})
    const steps = records.map((_, i) => nextStep(PLAN, records.slice(0, i)))
    const restarts = steps.flatMap((step) => (step?.restart ? step : []))
    t.strictSame(
      restarts.map(({ at }) => at.purpose),
      ['edge'],
    )
    const usual_s = Math.min(...steps.flatMap((step) => step?.load.warmup_s ?? []))
    t.ok(
      restarts.every(({ load }) => load.warmup_s > usual_s),
      'and warms up like a cold one',
    )
  },
)

t.test(
  'a search that the generator bounds ends with a lower bound and names the generator, settled or not',
  async (t) => {
    const blamed = (/** @type {string} */ blame) => (/** @type {any[]} */ records) =>
      records.map((record) => {
        const { at, outcome, limit } = record
        if (at.phase !== 'search' || outcome.verdict !== 'fail') return record
        const named = { ...limit, resource: 'generator-cpu' }
        return { ...record, outcome: { verdict: 'invalid', because: 'made up', blame }, limit: named }
      })
    const whole = runOf({ plan: { ...PLAN, confirms: false } })
    const last = whole.findLastIndex(({ outcome }) => outcome.verdict === 'fail')
    for (const records of [blamed('generator')(whole), blamed('generator')(whole.slice(0, last + 1))]) {
      const { capacity, limit, problem } = answerOf(PLAN, records)
      t.match(capacity, { high_rps: null, bounded_by: 'made up' })
      t.match(limit, { resource: 'generator-cpu', kind: 'generator' })
      t.equal(problem, null)
    }
    const noisy = answerOf(PLAN, blamed('noise')(whole.slice(0, last + 1)))
    t.match(noisy.problem, /^at \d+\/s, no trial could be judged/, 'noise of the machine bounds nothing')
  },
)

t.test('a limit that is a knob of ours is relaxed at the edge: as it is once, relaxed twice', async (t) => {
  const records = runOf({ relaxed_rps: 5000 })
  const edge = of(records, 'relax')
  t.strictSame(
    edge.map(({ cell }) => cell),
    [null, { POOL_MAX: 8 }, { POOL_MAX: 8 }],
  )
  const { capacity, limit } = answerOf(PLAN, records)
  t.ok(edge.every(({ load }) => load.rate_rps > Number(capacity?.high_rps)))
  t.match(limit, {
    resource: 'pool-size',
    confirmed: true,
    evidence: [String, /^with POOL_MAX=8 the SLO was met, .* at [\d,]+\/s/],
  })
  t.equal(limit?.evidence.length, 2)
})

t.test(
  'a service that is faster after the search is relaxed at a higher rate, at which it fails unchanged',
  async (t) => {
    const ratesOf = (/** @type {any[]} */ records) =>
      of(records, 'relax').map(({ cell, load }) => [cell, load.rate_rps])
    const [[, edge_rps]] = ratesOf(runOf({}))
    const higher_rps = Math.round(edge_rps * 1.1)
    const confirming = runOf({ later_rps: 1.05 * edge_rps, relaxed_rps: 5000 })
    t.strictSame(ratesOf(confirming), [
      [null, edge_rps],
      [null, higher_rps],
      [{ POOL_MAX: 8 }, higher_rps],
      [{ POOL_MAX: 8 }, higher_rps],
    ])
    t.match(answerOf(PLAN, confirming).limit, { resource: 'pool-size', confirmed: true })
    const refuting = answerOf(PLAN, runOf({ later_rps: 1.05 * edge_rps })).limit
    t.match(refuting, { resource: 'pool-size', confirmed: false })
    t.match(refuting?.evidence.at(-1), new RegExp(`did not help at ${higher_rps.toLocaleString('en')}/s`))
    const fast = runOf({ later_rps: 2 * edge_rps, runner_up: 'nofile' })
    t.strictSame(
      of(fast, 'relax').map(({ cell }) => cell),
      [null, null, null],
      'a service that is much faster shows nothing, so nothing is relaxed',
    )
    t.match(answerOf(PLAN, fast).limit, { resource: 'pool-size', confirmed: null })
  },
)

t.test('one that does not move the capacity was not it: the runner-up is accused', async (t) => {
  const records = runOf({ runner_up: 'nofile' })
  t.strictSame(
    of(records, 'relax-runner-up').map(({ cell }) => cell),
    [null, { NOFILE: 1024 }, { NOFILE: 1024 }],
  )
  t.match(answerOf(PLAN, records).limit, { resource: 'nofile', runner_up: 'pool-size', confirmed: false })
  const alone = answerOf(PLAN, runOf({ runner_up: 'api-cpu' })).limit
  t.match(alone, {
    resource: 'api-cpu',
    runner_up: 'pool-size',
    confirmed: null,
    evidence: [/relaxing pool-size \(POOL_MAX=8\) did not help/],
  })
  t.equal(alone?.evidence.length, 1)
})

t.test('nothing is relaxed that is not ours, nor when it is not wanted', async (t) => {
  const foreign = runOf({ resource: 'network' })
  t.strictSame(
    foreign.filter(({ cell }) => cell !== null),
    [],
  )
  t.match(answerOf(PLAN, foreign).limit, { resource: 'network', confirmed: null })
  const plan = { ...PLAN, confirms: false }
  t.match(answerOf(plan, runOf({ plan })).limit, { resource: 'pool-size', confirmed: null })
  // What has no setting to look at, such as V8's heap, could be relaxed in any service of ours.
  const ours = runOf({ resource: 'api-gc', runner_up: 'keep-alive-race' })
  t.ok(ours.some(({ cell }) => cell !== null))
  const url = { ...PLAN, url: 'http://127.0.0.1:1/' }
  const theirs = runOf({ plan: url, resource: 'api-gc', runner_up: 'keep-alive-race' })
  t.ok(theirs.every(({ cell }) => cell === null))
  t.match(answerOf(url, theirs).limit, { resource: 'api-gc', confirmed: null })
})

t.test('a limit that could not be relaxed is left alone, and the runner-up accused', async (t) => {
  const records = runOf({ runner_up: 'nofile' })
  const refused = [{ cell: { POOL_MAX: 8 }, because: 'made up' }]
  const searched = records.filter(({ at }) => !/^relax/.test(at.phase))
  t.match(nextStep(PLAN, searched, refused), { at: { phase: 'relax-runner-up' }, cell: null })
  t.equal(nextStep(PLAN, searched, [...refused, { cell: { NOFILE: 1024 }, because: 'made up' }]), null)
})

t.test('a run that was cut off goes on with the same trial', async (t) => {
  const records = runOf({ relaxed_rps: 5000 })
  for (let length = 0; length < records.length; length++) {
    const { at, cell, load } = records[length]
    const { timeout_s, mix, seed, ...asked } = load
    t.match(nextStep(PLAN, records.slice(0, length)), { at, cell, load: asked })
  }
})

t.test('what gives nothing to go by is said', async (t) => {
  const dead = {
    at: { phase: 'plateau' },
    cell: null,
    load: { connections: 2, loop: 'closed' },
    traffic: { ok: 0, goodput_rps: 0, status: {}, errors: {} },
    outcome: { verdict: 'fail', because: 'nobody there' },
  }
  t.match(answerOf(PLAN, /** @type {any} */ ([dead])), { capacity: null, problem: /found none: nobody there/ })
  const invalid = runOf({}).map((record) => {
    return record.outcome.verdict === 'fail' ? { ...record, outcome: { verdict: 'invalid', because: 'late' } } : record
  })
  const bound = runOf({ given: of(invalid, 'plateau') })
  const all = bound.map((record) =>
    record.outcome.verdict === 'fail' ? { ...record, outcome: { verdict: 'invalid', because: 'late' } } : record,
  )
  const { capacity, problem } = answerOf(PLAN, all)
  t.equal(capacity?.high_rps, null)
  t.match(problem, /lower bound|not settled/)
})

t.test('a core that changes its speed leaves no answer if that takes away one side of it', async (t) => {
  const timed = (/** @type {(record: any) => number} */ workOf) =>
    runOf({ resource: 'api-cpu' }).map((record) => {
      if (record.at.phase !== 'search') return record
      const work_ms = workOf(record)
      const api = { ...record.probes.api, cpu_us_per_request: 20 * work_ms }
      return { ...record, work_ms, probes: { ...record.probes, api } }
    })
  const isFail = (/** @type {any} */ { outcome }) => outcome.verdict === 'fail'
  const steady = answerOf(
    PLAN,
    timed(() => 5),
  )
  t.equal(steady.problem, null)
  t.ok(steady.capacity?.low_rps && steady.capacity.high_rps, 'a steady core leaves both sides')

  const slow = timed((record) => (isFail(record) ? 9.6 : 5))
  const { capacity, problem } = answerOf(PLAN, slow)
  t.equal(capacity?.high_rps, null, 'no fail counts')
  t.match(problem, /same work took 5\.0 to 9\.6 ms/)
  t.match(problem, /too few are left to bound the capacity from above/)

  const late = { verdict: 'invalid', because: 'late', blame: 'generator' }
  const disturbed = [...slow, { ...of(slow, 'search').findLast(isFail), outcome: late, work_ms: 5 }]
  t.match(answerOf(PLAN, disturbed).problem, /too few are left/, 'even if the generator was late once at that rate')

  const fast = timed((record) => (isFail(record) ? 5 : 2.5))
  const without = { ...PLAN, confirms: false }
  const mostFail = [...fast, ...of(fast, 'search').filter(isFail), ...of(fast, 'search').filter(isFail)]
  t.match(answerOf(without, mostFail).problem, /too few are left to bound the capacity from below/)
})

t.test(
  'where other programs may have failed some trials, the interval reaches as far as it does without those',
  async (t) => {
    const plan = { ...PLAN, url: 'http://127.0.0.1:80/', confirms: false }
    const runBeside = (
      /** @type {(trial: number) => boolean} */ isCrowded,
      cores = /** @type {string | null} */ (null),
    ) => {
      const [calm, crowded] = [1000, 600].map((capacity_rps) => createService({ capacity_rps, least_ms: 10 }))
      return recordsOf(plan, nextStep, (step, own) => (isCrowded(own.trial) ? crowded : calm)(step, own), {
        change: (record) => {
          const busy_ratio = isCrowded(record.trial) ? 0.99 : 0.5
          const kernel = { ...record.probes.kernel, cores: { 0: { busy_ratio }, 1: { busy_ratio } } }
          const target = { ...record.target, kind: 'url', url: plan.url, cores }
          return { ...record, target, probes: { ...record.probes, kernel } }
        },
      })
    }
    // The first rates are offered in peace, up to a fail; then a program starts.
    const isLate = (/** @type {number} */ trial) => trial > 7 && trial % 4 !== 0
    const records = runBeside(isLate)
    const { capacity } = answerOf(plan, records)
    const quiet = answerOf(
      plan,
      runBeside(() => false),
    ).capacity
    const [from_rps, to_rps] = [Number(quiet?.low_rps), Number(quiet?.high_rps)]
    t.ok(from_rps > 900 && to_rps <= 1000, `without other programs, it is narrow: ${JSON.stringify(quiet)}`)
    t.ok(Number(capacity?.low_rps) < from_rps && (capacity?.high_rps ?? to_rps) >= to_rps, JSON.stringify(capacity))
    const pinned = answerOf(plan, runBeside(isLate, '0')).capacity
    t.ok(Number(pinned?.high_rps) < from_rps, `on a core of its own, what failed counts: ${JSON.stringify(pinned)}`)
  },
)

t.test('what did not count for the capacity names no limit of it', async (t) => {
  const records = runOf({ resource: 'postgres-cpu', plan: { ...PLAN, confirms: false } }).map((record) => {
    if (record.at.phase !== 'search') return record
    return {
      ...record,
      work_ms: 5,
      probes: { ...record.probes, api: { ...record.probes.api, cpu_us_per_request: 100 } },
    }
  })
  const fail = of(records, 'search').find(({ outcome }) => outcome.verdict === 'fail')
  const { api } = fail.probes
  const other = {
    ...fail,
    work_ms: 9,
    probes: { ...fail.probes, api: { ...api, cpu_us_per_request: 180 } },
    limit: { ...fail.limit, resource: 'api-cpu' },
  }
  const first = records.indexOf(fail)
  const all = [...records.slice(0, first), ...Array.from({ length: 5 }, () => other), ...records.slice(first)]
  t.match(answerOf({ ...PLAN, confirms: false }, all).limit, { resource: 'postgres-cpu' })
})

t.test(
  'a target that the run starts is warmed up again after an interruption, and one that was running is not',
  async (t) => {
    const coldOf = (/** @type {object} */ plan) => nextStep({ ...PLAN, ...plan }, [])?.cold_warmup_s
    t.equal(coldOf({}), COLD_WARMUP_S)
    t.equal(coldOf({ url: 'http://127.0.0.1:1/', start: 'node server.js' }), COLD_WARMUP_S)
    t.equal(coldOf({ url: 'http://127.0.0.1:1/' }), undefined)
  },
)

t.test('a service that ended after the closed loops is refused, not slow', async (t) => {
  const serve = createService({ capacity_rps: 1000, least_ms: 10 })
  const goneAt = (/** @type {any} */ { rate_rps, duration_s }) => {
    return { ok_rps: 0, refused_rps: 0, mean_ms: 1, errors: { 'server:refused': Math.round(rate_rps * duration_s) } }
  }
  const ends = (/** @type {any} */ step, /** @type {any} */ about) =>
    step.at.phase === 'search' ? goneAt(step.load) : serve(step, about)
  const plan = { ...PLAN, url: 'http://127.0.0.1/', confirms: false }
  const records = recordsOf(plan, nextStep, /** @type {any} */ (ends))
  t.equal(of(records, 'search').length, 2)
  const { capacity, limit, problem } = answerOf(plan, records)
  t.strictSame([capacity, limit], [null, null])
  const last = of(records, 'plateau').at(-1)?.trial
  t.match(problem, new RegExp(`^after trial ${last}, every connection was refused: `))
})

t.test('what to check where nothing succeeds', async (t) => {
  for (const [traffic, advice] of /** @type {[object, RegExp][]} */ ([
    [{ status: { 302: 4 }, errors: {} }, /^because; redirects are not followed/],
    [{ status: { 304: 4 }, errors: {} }, /^because$/],
    [{ status: { 401: 4 }, errors: {} }, /credentials with --header$/],
    [{ status: { 403: 4 }, errors: {} }, /credentials with --header, unless a firewall blocks this much load$/],
    [{ status: { 404: 4 }, errors: {} }, /the path of the URL$/],
    [{ status: { 405: 4 }, errors: {} }, /another --method$/],
    [{ status: { 405: 4, 500: 1 }, errors: {} }, /^because$/],
    [{ status: {}, errors: { 'server:refused': 3 } }, /is the service running\?$/],
    [{ status: {}, errors: { 'server:refused': 3, 'server:reset': 1 } }, /^because$/],
    [{ status: { 502: 2, 503: 1 }, errors: {} }, /check that the service behind the proxy is running$/],
    [
      { status: {}, errors: { 'server:tls': 3 } },
      /check its certificate for this host name; NODE_EXTRA_CA_CERTS=FILE adds an authority of yours$/,
    ],
    [
      { status: {}, errors: { 'server:closed': 3, 'server:protocol': 1 } },
      /speaks HTTP\/1\.1, and not only HTTPS or HTTP\/2$/,
    ],
    [
      { status: {}, errors: { 'client:timeout': 3, 'client:unsent': 1 } },
      /check the host and the port, and that no firewall/,
    ],
    [{ status: { 404: 4 }, errors: { 'server:reset': 1 } }, /^because$/],
  ])) {
    const last = /** @type {any} */ ({ outcome: { because: 'because' }, traffic: { ok: 0, ...traffic } })
    t.match(failureText(last), advice)
  }
})

t.test('a service that stops answering for good has no capacity, and is not asked for long', async (t) => {
  const url = 'http://127.0.0.1/'
  const dies = (/** @type {any} */ plan) => {
    const serve = createService({ capacity_rps: 1000, least_ms: 10 })
    let searched = 0
    const dying = (/** @type {any} */ step, /** @type {any} */ about) => {
      if (step.at.phase === 'search') searched++
      const seen = serve(step, about)
      return searched <= 3 ? seen : { ...seen, ok_rps: 0, refused_rps: Number(step.load.rate_rps) }
    }
    return recordsOf(plan, nextStep, /** @type {any} */ (dying))
  }
  const plan = { ...PLAN, url, confirms: false }
  const records = dies(plan)
  const dead = of(records, 'search').slice(3)
  t.ok(dead.length >= 3 && dead.length <= 8, `${dead.length} trials after it stopped`)
  const last = of(records, 'search')[2].trial
  t.match(
    answerOf(plan, records).problem,
    new RegExp(`^after trial ${last}, not one request succeeded, even at rates that had passed: 0 of `),
  )
  t.equal(answerOf(plan, records).capacity, null)
  t.ok(dies({ ...plan, start: 'node server.js' }).length > records.length, 'one that we start may come back')
})
