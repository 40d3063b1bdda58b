import t from 'tap'
import { COLD_WARMUP_S } from '../../../../load/capacity/ladder.js'
import { pathCell, proofStep, proven } from '../../../../load/capacity/proving.js'
import { dosed } from '../../../support/simulated/doses.js'

/** @import { Step } from '../../../../load/report/record.js' */

const PLAN = /** @type {any} */ ({
  ...{ proves: true, driver: 'vegeta', url: null, connections: [], connections_max: 5000 },
  ...{ warmup_s: 0.5, timeout_s: 10, slo: { p99_ms: 100, success_ratio: 1 }, mix: { seed: 7 } },
})
const PASSED = { verdict: 'pass', because: 'made up' }
const PROBES = {
  api: {},
  postgres: { cores: '1', cpu_core_ratio: 0.5 },
  generator: { cores: '1', cpu_core_ratio: 0.3 },
  kernel: { cores: { 1: { busy_ratio: 0.9, interrupts_ratio: 0, steal_ratio: 0 } } },
}
const SERVICE = 'core 0 (the service)'
const OTHERS = 'core 1 (Postgres and the generator)'
const ALL = [SERVICE, OTHERS, 'Postgres', 'the generator']

/** A search that has ended: closed loops of 8 and 32 connections, and one trial. @param {{ target?: object, probes?: object, limit?: string }} [options] @returns {any[]} */
function searched({ target = { kind: 'local', cores: '0' }, probes = PROBES, limit = 'none-reached' } = {}) {
  const plateau = [8, 32].map((connections) => ({
    at: { phase: 'plateau' },
    cell: null,
    load: { loop: 'closed', connections },
    traffic: { achieved_rps: 100 * connections, goodput_rps: 100 * connections },
    outcome: PASSED,
    limit: { resource: 'none-reached' },
  }))
  return [
    ...plateau,
    {
      at: { phase: 'search' },
      cell: null,
      target,
      probes,
      settings: { POOL_MAX: 20 },
      load: { duration_s: 2 },
      outcome: PASSED,
      limit: { resource: limit },
      traffic: { achieved_rps: 1000 },
    },
  ]
}

const UNKNOWN = /** @type {any} */ ({ resource: 'none-reached', evidence: [], confirmed: null })

/** More than any proof has. */
const MAX_STEPS = 100

/**
 * The proof's steps, with what a service of these elasticities does in them.
 * @param {Record<string, number>} elasticities @param {object} [how] @param {number | null} [gain] by which four times the pool changes
 *   the throughput; null: the pool is not accused @param {any[]} [records] of the search
 */
function proof(elasticities, how, gain = null, plan = PLAN, records = searched()) {
  const cells = gain === null ? [] : [{ POOL_MAX: 80 }]
  const next = () => proofStep(plan, records, 'autocannon', cells)
  /** @type {Step[]} */
  const steps = []
  for (let step = next(); step; step = next()) {
    steps.push(step)
    const [{ target, probes, settings }] = records.slice(2)
    const { ticks, doses } = dosed(step.load.slices ?? [], ({ suspect }) => elasticities[suspect] ?? 0, {
      ...how,
      seed: steps.length + MAX_STEPS * (plan.mix.seed - PLAN.mix.seed),
    })
    const goodput_rps = 10_000 * Number(gain) * (1 + steps.length / 1000)
    const traffic = { achieved_rps: 1000, goodput_rps, ticks }
    records.push({
      ...step,
      target,
      probes,
      settings: { ...settings, ...step.cell },
      outcome: PASSED,
      limit: { resource: 'none-reached' },
      traffic,
      ...(doses.length > 0 && { doses }),
    })
  }
  return { records, steps }
}

t.test('a larger pool whose trials are all invalid does not use up the trials of the proof', async (t) => {
  const records = searched()
  const next = () => proofStep(PLAN, records, 'autocannon', [{ POOL_MAX: 80 }])
  for (let step = next(); step; step = next()) {
    const [{ target, probes, settings }] = records.slice(2)
    const { ticks, doses } = dosed(step.load.slices ?? [], () => 0, { seed: records.length })
    records.push({
      ...{ ...step, target, probes, settings, limit: { resource: 'none-reached' } },
      outcome: step.cell ? { verdict: 'invalid', blame: 'generator', because: 'made up' } : PASSED,
      traffic: { achieved_rps: 1000, goodput_rps: 1000, ticks },
      ...(doses.length > 0 && { doses }),
    })
    if (records.length > MAX_STEPS) throw new Error('the proof does not end')
  }
  const proofs = records.slice(3)
  t.equal(proofs.filter(({ cell }) => cell).length, 3)
  t.equal(proofs.filter(({ cell }) => !cell).length, 10, 'no suspect moves the throughput, so all blocks are made')
})

t.test(
  'a block doses each suspect once, next to its own undosed slice, in an order that the seed decides',
  async (t) => {
    const [first, second] = proof({ [SERVICE]: 1, [OTHERS]: 0, Postgres: 0, 'the generator': 0 }).steps
    const slices = first.load.slices ?? []
    t.equal(first.load.duration_s, slices.length + 1, 'a second each, after the lead')
    t.equal(first.load.connections, 32, 'those with which the closed loop got the most through')
    t.strictSame(
      slices
        .map(({ suspect }) => suspect)
        .filter((_, i) => i % 2 === 0)
        .sort(),
      ALL.toSorted(),
    )
    for (let i = 0; i < slices.length; i += 2) {
      t.equal(slices[i].suspect, slices[i + 1].suspect)
      t.strictSame([slices[i], slices[i + 1]].map(({ isDosed, share }) => isDosed && share).sort(), [0.1, false])
    }
    t.notSame(slices, second.load.slices)
    t.strictSame(slices, proof({ [SERVICE]: 0, [OTHERS]: 0, Postgres: 0, 'the generator': 0 }).steps[0].load.slices)
  },
)

t.test('a slice is longer where fewer than 40 requests are served in a second, but no longer than 2.5 s', async (t) => {
  const durationAt = (/** @type {number} */ achieved_rps) => {
    const records = searched().map((record) => ({ ...record, traffic: { ...record.traffic, achieved_rps } }))
    const [{ load }] = proof({}, {}, null, PLAN, records).steps
    return (load.duration_s - 1) / (load.slices ?? []).length
  }
  t.strictSame([100, 40, 20, 3].map(durationAt), [1, 1, 2, 2.5])
})

t.test('a load of fresh connections is proven with fresh connections', async (t) => {
  const fresh = (/** @type {object} */ plan) =>
    proof({}, {}, null, { ...PLAN, ...plan }).steps[0].load.fresh_connections
  t.equal(fresh({ fresh_connections: true }), true, 'in a closed loop')
  t.equal(fresh({ fresh_connections: true, driver: 'paced' }), true, 'in an overload')
  t.equal(fresh({ fresh_connections: false }), false)
})

t.test('in half of the blocks, each suspect is slowed before its undosed neighbour', async (t) => {
  const { steps } = proof({ [SERVICE]: 0.3, [OTHERS]: 0.3 }, { noise: 0.1 })
  const slices = steps.flatMap(({ load }) => load.slices ?? [])
  for (const name of ALL) {
    const dosed = slices.flatMap(({ suspect, isDosed }, i) => (suspect === name && isDosed ? i % 2 : []))
    t.equal(dosed.length, 10)
    t.equal(dosed.filter((place) => place === 0).length, 5, name)
  }
})

t.test('a proof ends with the first block that decides, and doubles a dose that decides nothing', async (t) => {
  const clear = proof({ [SERVICE]: 1, [OTHERS]: 0, Postgres: 0, 'the generator': 0 }).steps
  t.equal(clear.length, 6)
  const unclear = proof({ [SERVICE]: 0.3, [OTHERS]: 0.3, Postgres: 0, 'the generator': 0 }, { noise: 0.1 }).steps
  t.equal(unclear.length, 10)
  const shares = unclear.map(({ load }) => Math.max(...(load.slices ?? []).map(({ share }) => share)))
  t.strictSame(shares, [...Array(6).fill(0.1), ...Array(4).fill(0.2)])
})

t.test(
  'intervals keep their confidence, and few limits are wrong, although a proof ends when it is decided',
  async (t) => {
    const PROOFS = 100
    for (const [service, others, postgres] of [
      [1, 0, 0],
      [0.8, 0.5, 0.5],
      [0, 0, 0],
    ]) {
      /** @type {Record<string, number>} */
      const truth = { [SERVICE]: service, [OTHERS]: others, Postgres: postgres, 'the generator': 0 }
      const proofs = Array.from({ length: PROOFS }, (_, i) => {
        const { records } = proof(truth, { noise: 0.05 }, null, { ...PLAN, mix: { seed: 100 + i } })
        return proven(UNKNOWN, records)
      })
      const intervals = proofs.flatMap(({ elasticities = [] }) => elasticities)
      const inside = intervals.filter(({ suspect, low, high }) => {
        return Number(low) <= truth[suspect] && truth[suspect] <= Number(high)
      })
      const share = inside.length / intervals.length
      t.ok(share >= 0.93 && share <= 0.99, `${service}, ${others}, ${postgres}: ${share}`)
      const named = proofs.filter(
        ({ limit }) => !['api-cpu', 'lock-step', 'none-reached'].includes(String(limit?.resource)),
      )
      t.ok(named.length <= 0.05 * PROOFS, `${named.length} other limits were named`)
    }
  },
)

t.test('with a dose of zero nothing is slowed, every interval should contain 0, and no limit is named', async (t) => {
  const { steps, records } = proof({}, {}, null, { ...PLAN, dose_ratio: 0 })
  t.equal(steps.length, 10)
  t.ok(steps.every(({ load }) => load.slices?.every(({ share }) => share === 0)))
  const counted = /** @type {any} */ ({ resource: 'api-cpu', evidence: [], confirmed: null })
  const { limit, elasticities = [] } = proven(counted, records)
  t.equal(limit, counted)
  t.equal(elasticities.length, ALL.length)
  for (const { undosed, low, high } of elasticities) t.ok(undosed && Number(low) <= 0 && Number(high) >= 0)
})

t.test('our own driver offers more than the target takes, and twice that to a larger pool', async (t) => {
  const plan = { ...PLAN, driver: 'paced' }
  const first = proofStep(plan, searched(), 'autocannon', [])
  t.match(first?.load, { driver: 'paced', loop: 'open', rate_rps: 1250, connections: 120 })
  const blocks = Array.from({ length: 3 }, (_, round) => ({
    at: { phase: 'proof', round },
    cell: null,
    outcome: PASSED,
    traffic: {},
  }))
  const larger = proofStep(plan, [...searched(), ...blocks], 'autocannon', [{ POOL_MAX: 80 }])
  t.match(larger, { cell: { POOL_MAX: 80 }, load: { rate_rps: 2500, connections: 240 } })
})

t.test('nothing is dosed where the service cannot be, or before there is an answer', async (t) => {
  const step = (/** @type {any} */ plan, /** @type {any[]} */ records) => proofStep(plan, records, 'autocannon', [])
  const url = searched({ target: { kind: 'url', cores: null }, probes: { generator: { cpu_core_ratio: 0.3 } } })
  t.equal(step({ ...PLAN, proves: false }, searched()), null)
  t.equal(step(PLAN, searched().slice(0, 2)), null)
  t.equal(step(PLAN, url), null)
  const pids = [
    { pid: 123, name: 'nginx' },
    { pid: 456, name: 'postgres' },
  ]
  const named = step({ ...PLAN, pids }, url)?.load.slices ?? []
  t.strictSame([...new Set(named.map(({ suspect, resource }) => `${suspect}: ${resource}`))].sort(), [
    'process 123 (nginx): api-cpu',
    'process 456 (postgres): postgres-cpu',
    'the generator: generator-cpu',
  ])
  const unpinned = step(
    PLAN,
    searched({ target: { kind: 'local', cores: '0-1' }, probes: { postgres: { cores: '0-1' }, generator: {} } }),
  )
  const suspects = (unpinned?.load.slices ?? []).map(({ suspect }) => suspect)
  t.strictSame([...new Set(suspects)].sort(), ['Postgres', 'the generator', 'the service'])
})

t.test('the doses confirm the limit that the counters named, or correct it', async (t) => {
  const limit = (/** @type {string} */ resource) =>
    /** @type {any} */ ({
      resource,
      evidence: ['counted'],
      runner_up: null,
      runner_up_evidence: [],
      confirmed: null,
      kind: 'full',
    })
  const { records } = proof({ [SERVICE]: 0, [OTHERS]: 1.1, Postgres: 0.8, 'the generator': 0 })

  t.strictSame(proven(limit('postgres-cpu'), records).limit, { ...limit('postgres-cpu'), confirmed: true })
  t.equal(
    proven({ ...limit('postgres-cpu'), kind: 'tie' }, records).limit?.kind,
    'full',
    'a tie of the counters is decided',
  )
  const corrected = proven(limit('pool-size'), records)
  t.match(corrected.limit, { resource: 'postgres-cpu', runner_up: 'pool-size', confirmed: true })
  t.strictSame(corrected.limit?.runner_up_evidence, ['counted'])
  t.strictSame(corrected.elasticities?.map(({ suspect }) => suspect).slice(0, 2), [OTHERS, 'Postgres'])
  t.strictSame(
    proven(limit('nofile'), records).limit,
    limit('nofile'),
    'a limit of connections is not tested by a closed loop',
  )
  t.strictSame(proven(limit('pool-size'), searched()), { limit: limit('pool-size') })
  const full = { interrupts_ratio: 0, steal_ratio: 0 }
  const both = {
    ...PROBES,
    api: { cpu_core_ratio: 0.98 },
    kernel: { cores: { 0: { ...full, busy_ratio: 0.99 }, 1: { ...full, busy_ratio: 0.97 } } },
  }
  const two = proof({ [SERVICE]: 0.95, [OTHERS]: 1 }, {}, null, PLAN, searched({ probes: both })).records
  const tie = proven(limit('pool-size'), two).limit
  t.equal(tie?.kind, 'tie')
  t.strictSame([tie?.resource, tie?.runner_up].sort(), ['api-cpu', 'postgres-cpu'], 'with each other')
  for (const one of ['api-cpu', 'postgres-cpu']) {
    const { limit: agreed } = proven(limit(one), two)
    t.match(agreed, { resource: one, kind: 'tie', confirmed: true }, 'either of them was named rightly')
    t.strictSame(agreed?.evidence, ['counted'])
    t.not(agreed?.runner_up, one)
    t.match(String(agreed?.runner_up_evidence), / by 10 % costs \d+ %/)
  }
  const still = proof({ [SERVICE]: 0, [OTHERS]: 0, Postgres: 0, 'the generator': 0 }).records
  t.strictSame(proven(limit('postgres-commit'), still).limit, limit('postgres-commit'))

  const mostlyIdle = { 0: { busy_ratio: 0.2, interrupts_ratio: 0, steal_ratio: 0 } }
  const behindLock = searched({ probes: { ...PROBES, kernel: { cores: mostlyIdle } } })
  proof({ [SERVICE]: 1, [OTHERS]: 0, Postgres: 0, 'the generator': 0 }, {}, null, PLAN, behindLock)
  t.strictSame(
    proven(limit('postgres-lock'), behindLock).limit,
    limit('postgres-lock'),
    'a core that mostly waits is not made the limit in place of what it waits for',
  )
})

t.test('a pool is the limit where a larger one lets more through, and the messenger where it does not', async (t) => {
  const limit = /** @type {any} */ ({
    resource: 'pool-size',
    evidence: [],
    runner_up: null,
    runner_up_evidence: [],
    confirmed: null,
  })
  const slow = { [SERVICE]: 0, [OTHERS]: 1, Postgres: 0.8, 'the generator': 0 }

  const messenger = proof(slow, {}, 1.05)
  t.strictSame(
    messenger.steps.map(({ cell, load }) => [cell?.POOL_MAX ?? null, load.warmup_s]),
    [
      ...[
        [null, 0.5],
        [null, 0.5],
        [null, 0.5],
      ],
      ...[
        [80, COLD_WARMUP_S],
        [80, 0.5],
        [80, 0.5],
        [80, 0.5],
      ],
      ...[
        [null, COLD_WARMUP_S],
        [null, 0.5],
        [null, 0.5],
      ],
    ],
    'one change there, and one back',
  )
  const found = proven(limit, messenger.records)
  t.match(found.limit, { resource: 'postgres-cpu', runner_up: 'pool-size', confirmed: true })
  const pool = found.elasticities?.find(({ resource }) => resource === 'pool-size')
  t.match(pool, { suspect: 'POOL_MAX x 4', factor: 4, pairs: 4 })
  t.ok(Number(pool?.elasticity) > 0 && Number(pool?.elasticity) < 0.1, JSON.stringify(pool))

  const cause = proven(limit, proof({ ...slow, [OTHERS]: 0.6 }, {}, 3.5).records)
  t.match(cause.limit, { resource: 'pool-size', confirmed: true })
})

/** Its log is flushed 400 times a second. */
const FLUSHED = { ...PROBES, postgres: { ...PROBES.postgres, wal_flushes: 800, commit_problem: null } }
const STILL = { [SERVICE]: 0, [OTHERS]: 0, 'the generator': 0 }

t.test('the commit is dosed only where it was the limit of a trial by its counters, and can be slowed', async (t) => {
  const slicesOf = (/** @type {object} */ options) => {
    const slices = proofStep(PLAN, searched(options), 'autocannon', [])?.load.slices ?? []
    return slices.filter(({ suspect }) => suspect === 'the commit')
  }
  const commit = { suspect: 'the commit', resource: 'postgres-commit', flush_us: 2500 }
  const [one, other] = slicesOf({ probes: FLUSHED, limit: 'postgres-commit' })
  t.strictSame(one.isDosed ? one : other, { ...commit, isDosed: true, share: 0.1 })
  t.strictSame(one.isDosed ? other : one, { ...commit, isDosed: false, share: 0 })
  t.strictSame(slicesOf({ probes: FLUSHED, limit: 'pool-size' }), [], 'the counters named another')
  const [search] = searched({ probes: FLUSHED, limit: 'postgres-commit' }).slice(2)
  const probes = { ...FLUSHED, postgres: { ...FLUSHED.postgres, wal_flushes: 1600 } }
  const round = { ...search, at: { phase: 'proof', round: 0 }, probes, limit: { resource: 'none-reached' } }
  const next = proofStep(PLAN, [...searched(), search, round], 'autocannon', [])?.load.slices ?? []
  t.equal(next.find(({ suspect }) => suspect === 'the commit')?.flush_us, 1250, 'by the last trial of the proof')
  const elsewhere = { ...searched({ probes: FLUSHED, limit: 'postgres-commit' })[2], cell: { POOL_MAX: 80 } }
  const [, ...rest] = searched({ probes: FLUSHED })
  const slices = proofStep(PLAN, [elsewhere, ...rest], 'autocannon', [])?.load.slices ?? []
  t.ok(
    slices.length > 0 && !slices.some(({ suspect }) => suspect === 'the commit'),
    'it was the limit of a larger pool',
  )
  t.strictSame(slicesOf({ limit: 'postgres-commit' }), [], 'no flush was counted')
  const postgres = { ...FLUSHED.postgres, commit_problem: 'fsync is off' }
  t.strictSame(slicesOf({ probes: { ...FLUSHED, postgres }, limit: 'postgres-commit' }), [], 'it cannot be slowed')
})

t.test('a proof decides between the commit and Postgres as a whole, whichever the counters named', async (t) => {
  const before = () => searched({ probes: FLUSHED, limit: 'postgres-commit' })
  const limit = (/** @type {string} */ resource) =>
    /** @type {any} */ ({ resource, evidence: ['counted'], runner_up: null, runner_up_evidence: [], confirmed: null })
  const { records } = proof({ ...STILL, Postgres: 0.4, 'the commit': 0.9 }, {}, null, PLAN, before())
  t.strictSame(proven(limit('postgres-commit'), records).limit, { ...limit('postgres-commit'), confirmed: true })
  const corrected = proven(limit('pool-size'), records).limit
  t.match(corrected, { resource: 'postgres-commit', runner_up: 'pool-size', confirmed: true })
  const other = proof({ ...STILL, [OTHERS]: 0.8, Postgres: 0.9, 'the commit': 0.2 }, {}, null, PLAN, before()).records
  t.match(proven(limit('postgres-commit'), other).limit, { resource: 'postgres-cpu', runner_up: 'postgres-commit' })
  const waiting = proof({ ...STILL, Postgres: 0.9 }, {}, null, PLAN, before()).records
  t.strictSame(proven(limit('pool-size'), waiting).limit, limit('pool-size'), 'Postgres waits, but not for its core')
})

t.test('the way to a distant database is made longer by a quarter, in whole milliseconds', async (t) => {
  const cellAt = (/** @type {object} */ postgres, kind = 'local') =>
    pathCell(searched({ target: { kind, cores: '0' }, probes: { ...PROBES, postgres } }))
  t.equal(cellAt({}), null, 'an older record has no round trip')
  t.equal(cellAt({ round_trip_ms: 0.9 }), null)
  t.strictSame(cellAt({ round_trip_ms: 1 }), { DB_RTT_MS: 1 })
  t.strictSame(cellAt({ round_trip_ms: 20 }), { DB_RTT_MS: 5 })
  t.equal(cellAt({ round_trip_ms: 20 }, 'ssh'), null)
  t.equal(cellAt({ round_trip_ms: 20 }, 'url'), null)
})

t.test('what the way to the database costs is reported, and never called the limit', async (t) => {
  const probes = { ...PROBES, postgres: { ...PROBES.postgres, round_trip_ms: 20 } }
  const records = searched({ probes, limit: 'lock-step' })
  const cells = [{ DB_RTT_MS: 5 }]
  for (let step = proofStep(PLAN, records, 'autocannon', cells); step; ) {
    const { ticks, doses } = dosed(step.load.slices ?? [], () => 0, { seed: records.length })
    const goodput_rps = 8000 * (1 + records.length / 1000)
    const isFar = step.cell !== null
    records.push({
      ...{ ...step, target: records[2].target, probes, outcome: PASSED, limit: { resource: 'lock-step' } },
      settings: { POOL_MAX: 20, ...step.cell, ...(isFar && { DB_ROUND_TRIP_MS: 25 }) },
      traffic: { achieved_rps: 1000, goodput_rps, ticks },
      ...(!isFar && { doses }),
    })
    step = proofStep(PLAN, records, 'autocannon', cells)
  }
  const far = records.filter(({ cell }) => cell !== null)
  t.equal(far.length, 4)
  for (const { load } of far) t.match(load, { connections: 32, duration_s: 3 }, 'the same load as that of the others')
  const named = /** @type {any} */ ({ resource: 'lock-step', evidence: [], confirmed: null })
  const { limit, elasticities = [] } = proven(named, records)
  t.equal(limit, named)
  const [path] = elasticities
  t.match(path, { suspect: 'the path to Postgres', resource: 'postgres-path', pairs: 4, factor: undefined })
  t.ok(path.elasticity > 0.85 && path.elasticity < 1.05, `ln(0.8) / ln(20 / 25) is about 1, got ${path.elasticity}`)
  t.ok(Number(path.low) <= path.elasticity && path.elasticity <= Number(path.high))
})
