import t from 'tap'
import { seededRandom } from '../../../../load/system/random.js'
import { elasticitiesOf, provenBy } from '../../../../load/verdict/proof.js'
import { dosed } from '../../../support/simulated/doses.js'

const RATE_RPS = 10_000
const RESOURCES = /** @type {Record<string, string>} */ ({
  'core 0 (the service)': 'api-cpu',
  'core 1 (Postgres and the generator)': 'postgres-cpu',
  Postgres: 'postgres-cpu',
  'the generator': 'generator-cpu',
  'the commit': 'postgres-commit',
})

/**
 * Records of a proof, by the service's true elasticities.
 * @param {Record<string, number>} elasticities by suspect
 * @param {{ blocks?: number, noise?: number, taken_ratio?: number, busy?: Record<string, number>, seed?: number, share?: number }} [options]
 *   busy: utilization by core
 * @returns {any[]}
 */
function recordsWith(elasticities, { blocks = 8, busy = {}, seed = 1, share = 0.1, ...how } = {}) {
  const random = seededRandom(seed)
  const cores = Object.fromEntries(
    Object.entries(busy).map(([core, busy_ratio]) => [core, { busy_ratio, interrupts_ratio: 0, steal_ratio: 0 }]),
  )
  return Array.from({ length: blocks }, (_, block) => {
    const slices = Object.keys(elasticities).flatMap((suspect) => {
      const dose = { suspect, resource: RESOURCES[suspect], isDosed: true, share }
      const pair = [dose, { ...dose, isDosed: false, share: 0 }]
      return random() < 0.5 ? pair : pair.reverse()
    })
    const { doses, ticks } = dosed(slices, ({ suspect }) => elasticities[suspect], {
      ...how,
      seed: 1000 * seed + block,
    })
    return {
      at: { phase: 'proof', round: block },
      doses,
      target: { cores: '0' },
      settings: {},
      traffic: { achieved_rps: RATE_RPS, ticks },
      probes: { api: {}, postgres: { cores: '1' }, generator: { cores: '1', cpu_core_ratio: 0.3 }, kernel: { cores } },
    }
  })
}

const [SERVICE, OTHERS, POSTGRES, GENERATOR, COMMIT] = Object.keys(RESOURCES)

t.test('an elasticity is the slope of ln(throughput) over ln(speed), by the dose that was really taken', async (t) => {
  for (const taken_ratio of [0.05, 0.12, 0.3]) {
    const found = elasticitiesOf(recordsWith({ [SERVICE]: 1, [OTHERS]: 0.25 }, { noise: 0, taken_ratio }))
    t.strictSame(
      found.map(({ suspect, resource, elasticity, pairs }) => ({ suspect, resource, elasticity, pairs })),
      [
        { suspect: SERVICE, resource: 'api-cpu', elasticity: 1, pairs: 8 },
        { suspect: OTHERS, resource: 'postgres-cpu', elasticity: 0.25, pairs: 8 },
      ],
      `${taken_ratio} taken`,
    )
  }
})

t.test(
  'the elasticity of a larger pool is 0 if it changes nothing, and unknown if nothing succeeds with it',
  async (t) => {
    const before = recordsWith({ [SERVICE]: 1 }, { noise: 0 }).map((one) => ({ ...one, settings: { POOL_MAX: '5' } }))
    const poolAt = (/** @type {number} */ rate_rps) => {
      const traffic = { per_second: Array(8).fill({ ok: rate_rps }), goodput_rps: rate_rps }
      const one = { at: { relaxed: true }, settings: { POOL_MAX: '20' }, load: { duration_s: 8 }, traffic }
      const all = /** @type {any[]} */ ([...before, ...Array(4).fill(one)])
      return elasticitiesOf(all).find(({ resource }) => resource === 'pool-size')?.elasticity
    }
    t.equal(poolAt(0), undefined)
    t.equal(poolAt(RATE_RPS), 0)
  },
)

t.test('a pair whose dose was mostly not taken says nothing', async (t) => {
  const records = recordsWith({ [SERVICE]: 1, [OTHERS]: 0 }, { noise: 0.03 })
  const before = elasticitiesOf(records)
  for (const dose of records[0].doses) if (dose.isDosed && dose.suspect === OTHERS) dose.taken_ratio = 0.006
  const [service, others] = elasticitiesOf(records)
  t.strictSame(service, before[0])
  t.equal(others.pairs, 7)
  t.ok(Number(others.high) < 0.5, `${others.high}: noise over next to nothing would be an effect`)
})

t.test('a core that the service and Postgres share counts once: half idle, it is no turn-taking', async (t) => {
  const records = recordsWith({ [SERVICE]: 0.5, [POSTGRES]: 0.5 }, { busy: { 0: 0.5 } })
  for (const { probes, doses } of records) {
    probes.postgres.cores = '0'
    for (const dose of doses) if (dose.suspect === SERVICE) dose.suspect = 'the service'
  }
  t.equal(provenBy(records).kind, 'undecided')
  for (const { probes } of records) probes.here = structuredClone(probes.kernel)
  t.equal(provenBy(records).kind, 'lock-step', 'of two hosts, these are two cores')
  for (const { probes } of records) delete probes.here
  for (const { probes } of records) probes.kernel.cores[0].busy_ratio = 0.9
  t.equal(provenBy(records).kind, 'lock-step')
})

t.test('a full core that everything shares is one limit, neither a tie nor a lock-step', async (t) => {
  for (const seed of [1, 2, 3]) {
    const records = recordsWith({ [SERVICE]: 0.55, [POSTGRES]: 0.35, [GENERATOR]: 0.15 }, { busy: { 0: 0.99 }, seed })
    for (const { probes, doses } of records) {
      Object.assign(probes.postgres, { cores: '0' })
      Object.assign(probes.generator, { cores: '0' })
      for (const dose of doses) if (dose.suspect === SERVICE) dose.suspect = 'the service'
    }
    const { kind, suspects } = provenBy(records)
    // Noise may leave its elasticity below a half, which proves nothing.
    t.ok(suspects[0].elasticity >= 0.5 ? kind === 'full' : kind === 'undecided', `${kind}, ${suspects[0].elasticity}`)
    t.equal(suspects[0].suspect, 'the service')
  }
})

t.test(
  'a gain of a fifth from a larger pool proves that the pool is the limit, wherever the next limit is',
  async (t) => {
    const others = { [SERVICE]: 0.15, [OTHERS]: 0.2, [POSTGRES]: 0.25, [GENERATOR]: 0 }
    const kinds = (/** @type {number} */ gain, truth = others) => {
      const records = recordsWith(truth, { noise: 0.003, busy: { 0: 0.5, 1: 0.45 } })
      for (const { settings, traffic } of records) {
        Object.assign(settings, { POOL_MAX: 5 })
        Object.assign(traffic, { goodput_rps: RATE_RPS })
      }
      const larger = [1, 1.005, 1.01, 1.015].map((times) => ({
        at: { phase: 'proof', round: 8, relaxed: true },
        settings: { POOL_MAX: 20 },
        load: { duration_s: 3 },
        traffic: { per_second: Array(3).fill({ ok: RATE_RPS * gain * times }) },
      }))
      const { kind, suspects } = provenBy([...records, .../** @type {any} */ (larger)])
      return [kind, suspects[0]?.resource]
    }
    const still = Object.fromEntries(Object.keys(others).map((suspect) => [suspect, 0]))
    for (const gain of [2.1, 1.9, 1.6, 1.3]) {
      t.strictSame(kinds(gain), ['full', 'pool-size'], `a gain of ${gain}`)
      t.strictSame(kinds(gain, still), ['full', 'pool-size'], `a gain of ${gain}, where nothing else moves it`)
    }
    t.strictSame(
      kinds(1.14, still),
      ['none', undefined],
      'what larger groups of commits gain in front of a slow Postgres',
    )
  },
)

t.test('intervals of 95 % contain the true elasticity that often, and those of a dose of zero contain 0', async (t) => {
  const truth = { [SERVICE]: 1, [OTHERS]: 0 }
  const RUNS = 200
  let covered = 0
  let still = 0
  for (let seed = 0; seed < RUNS; seed++) {
    const found = elasticitiesOf(recordsWith(truth, { noise: 0.03, seed }))
    covered += found.filter(
      ({ suspect, low, high }) => Number(low) <= truth[suspect] && truth[suspect] <= Number(high),
    ).length
    const undosed = elasticitiesOf(recordsWith(truth, { noise: 0.03, seed, share: 0 }))
    still += undosed.filter(({ low, high }) => Number(low) <= 0 && 0 <= Number(high)).length
  }
  t.ok(covered >= 0.93 * 2 * RUNS, `${covered} of ${2 * RUNS} contain the truth`)
  t.ok(still >= 0.93 * 2 * RUNS, `${still} of ${2 * RUNS} contain 0`)
})

t.test('too few pairs have no interval and decide nothing', async (t) => {
  const records = recordsWith({ [SERVICE]: 1, [OTHERS]: 0 }, { blocks: 5 })
  const bounds = elasticitiesOf(records).map(({ low, high }) => [low, high])
  t.strictSame(bounds, [
    [null, null],
    [null, null],
  ])
  t.equal(provenBy(records).kind, 'undecided')
  t.equal(provenBy([]).kind, 'undecided')
})

/** @type {[name: string, elasticities: Record<string, number>, options: object, kind: string, suspects: string[]][]} */
const CASES = [
  ["the service's core", { [SERVICE]: 1, [OTHERS]: 0.05, [POSTGRES]: 0, [GENERATOR]: 0 }, {}, 'full', [SERVICE]],
  [
    "Postgres' core, whose processes are no rivals of it",
    { [SERVICE]: 0, [OTHERS]: 1.2, [POSTGRES]: 1, [GENERATOR]: 0 },
    {},
    'full',
    [OTHERS],
  ],
  ['the generator', { [SERVICE]: 0, [OTHERS]: 0.2, [POSTGRES]: 0, [GENERATOR]: 0.9 }, {}, 'full', [GENERATOR]],
  [
    'stages that take turns',
    { [SERVICE]: 0.48, [OTHERS]: 0.45, [POSTGRES]: 0.4, [GENERATOR]: 0 },
    { noise: 0.003, busy: { 0: 0.81, 1: 0.87 } },
    'lock-step',
    [SERVICE, OTHERS],
  ],
  [
    'stages that take turns, although one of them seems to be the limit alone: half of the time its core is idle',
    { [SERVICE]: 0.35, [OTHERS]: 0.3, [POSTGRES]: 0.9, [GENERATOR]: 0 },
    { noise: 0.003, busy: { 0: 0.51, 1: 0.52 } },
    'lock-step',
    [POSTGRES, SERVICE],
  ],
  [
    'stages that take turns, of which the doses show one: together the cores fill the cycle, and neither is full',
    { [SERVICE]: 0.02, [OTHERS]: 0.3, [POSTGRES]: 0.95, [GENERATOR]: 0 },
    { noise: 0.003, busy: { 0: 0.53, 1: 0.51 } },
    'lock-step',
    [POSTGRES],
  ],
  [
    'Postgres, whose core is mostly idle, as are all others',
    { [SERVICE]: 0.02, [OTHERS]: 0.3, [POSTGRES]: 0.95, [GENERATOR]: 0 },
    { noise: 0.003, busy: { 0: 0.13, 1: 0.21 } },
    'full',
    [POSTGRES],
  ],
  [
    'no stages that are busy in bursts, between which something else takes most of the time',
    { [SERVICE]: 1.2, [OTHERS]: 1.1, [POSTGRES]: 0.9, [GENERATOR]: 0.6 },
    { noise: 0.003, busy: { 0: 0.16, 1: 0.21 } },
    'undecided',
    [SERVICE, OTHERS, GENERATOR],
  ],
  [
    'the full core, where the noise leaves room for a second one that the throughput follows',
    { [SERVICE]: 1.05, [OTHERS]: 0.2, [POSTGRES]: 0.7, [GENERATOR]: 0.5 },
    { noise: 0.03, busy: { 0: 0.96, 1: 0.83 } },
    'full',
    [SERVICE],
  ],
  [
    'the full core of two that the throughput follows alike',
    { [SERVICE]: 0.6, [OTHERS]: 0.62, [POSTGRES]: 0.4, [GENERATOR]: 0.1 },
    { noise: 0.01, busy: { 0: 0.8, 1: 0.97 } },
    'full',
    [OTHERS],
  ],
  [
    'the full core on which two suspects run that the throughput follows',
    { [SERVICE]: 0.2, [OTHERS]: 1, [POSTGRES]: 0.8, [GENERATOR]: 0.8 },
    { noise: 0.02, busy: { 0: 0.65, 1: 0.98 } },
    'full',
    [OTHERS],
  ],
  [
    'no core that is full, but that the throughput hardly follows',
    { [SERVICE]: 0.6, [OTHERS]: 0.35, [POSTGRES]: 0.3, [GENERATOR]: 0.1 },
    { noise: 0.02, busy: { 0: 0.8, 1: 0.97 } },
    'lock-step',
    [],
  ],
  [
    'the core that is busy nearly all the time: all else together could gain at most 6 %',
    { [SERVICE]: 1.15, [OTHERS]: 0.38, [POSTGRES]: 0.3, [GENERATOR]: 0.1 },
    { noise: 0.1, busy: { 0: 0.94, 1: 0.62 } },
    'full',
    [SERVICE],
  ],
  [
    'the core that is busy nearly all the time, beside a commit that the throughput follows more',
    { [SERVICE]: 0.8, [OTHERS]: 0.2, [POSTGRES]: 0.35, [GENERATOR]: 0, [COMMIT]: 0.85 },
    { noise: 0.02, busy: { 0: 0.91, 1: 0.6 } },
    'full',
    [SERVICE],
  ],
  [
    'two cores that are busy nearly all the time, and both not full',
    { [SERVICE]: 0.8, [OTHERS]: 0.75 },
    { noise: 0.02, busy: { 0: 0.92, 1: 0.91 } },
    'lock-step',
    [],
  ],
  [
    'no core that is busy nearly all the time, but that the throughput hardly follows',
    { [SERVICE]: 0.35, [OTHERS]: 0.4, [POSTGRES]: 0.3, [GENERATOR]: 0.1 },
    { noise: 0.02, busy: { 0: 0.92, 1: 0.6 } },
    'lock-step',
    [],
  ],
  [
    'no core that is busy nearly all the time, if another may be, too',
    { [SERVICE]: 0.8, [OTHERS]: 0.75, [POSTGRES]: 0.3 },
    { noise: 0.02, busy: { 1: 0.92 } },
    'lock-step',
    [],
  ],
  [
    'two full cores, either of which could be the limit',
    { [SERVICE]: 0.95, [OTHERS]: 1 },
    { noise: 0.02, busy: { 0: 0.99, 1: 0.97 } },
    'tie',
    [],
  ],
  [
    'two full cores, on one of which Postgres moves the throughput most',
    { [SERVICE]: 0.95, [OTHERS]: 0.9, [POSTGRES]: 1 },
    { noise: 0.02, busy: { 0: 0.99, 1: 0.97 } },
    'tie',
    [],
  ],
  [
    'the commit, where slowing Postgres as a whole costs less',
    { [SERVICE]: 0.05, [OTHERS]: 0.1, [POSTGRES]: 0.6, [GENERATOR]: 0, [COMMIT]: 0.95 },
    {},
    'full',
    [COMMIT],
  ],
  [
    'the commit, where slowing Postgres as a whole costs as much',
    { [SERVICE]: 0.05, [OTHERS]: 0.1, [POSTGRES]: 0.96, [GENERATOR]: 0, [COMMIT]: 0.94 },
    { noise: 0.003 },
    'full',
    [COMMIT],
  ],
  [
    'Postgres, where its commits are a part of what takes time',
    { [SERVICE]: 0.05, [OTHERS]: 0.1, [POSTGRES]: 1, [GENERATOR]: 0, [COMMIT]: 0.6 },
    {},
    'full',
    [POSTGRES],
  ],
  [
    'the service, which commits do not slow',
    { [SERVICE]: 0.95, [OTHERS]: 0.1, [POSTGRES]: 0.1, [GENERATOR]: 0, [COMMIT]: 0.05 },
    {},
    'full',
    [SERVICE],
  ],
  [
    'the service and the commit that take turns',
    { [SERVICE]: 0.45, [OTHERS]: 0, [POSTGRES]: 0.3, [GENERATOR]: 0, [COMMIT]: 0.5 },
    { noise: 0.003 },
    'lock-step',
    [COMMIT, SERVICE],
  ],
  [
    'nothing where the stages found explain a quarter of the time: the elasticities of all stages add up to 1',
    { [SERVICE]: 0.15, [OTHERS]: 0.12, [POSTGRES]: 0.12, [GENERATOR]: 0 },
    { noise: 0.003, busy: { 0: 0.5, 1: 0.45 } },
    'undecided',
    [],
  ],
  [
    'no tie of two full cores that together hardly move the throughput',
    { [SERVICE]: 0.15, [OTHERS]: 0.12, [POSTGRES]: 0.12, [GENERATOR]: 0 },
    { noise: 0.003, busy: { 0: 0.97, 1: 0.96 } },
    'undecided',
    [],
  ],
  ['nothing that can be slowed', { [SERVICE]: 0, [OTHERS]: 0.02, [POSTGRES]: 0.01, [GENERATOR]: 0 }, {}, 'none', []],
  ['noise', { [SERVICE]: 0.2, [OTHERS]: 0.1 }, { noise: 0.2 }, 'undecided', []],
]

t.test('a limit whose core is mostly idle is marked', async (t) => {
  const of = (/** @type {number} */ busy_ratio) => provenBy(recordsWith({ [SERVICE]: 1 }, { busy: { 0: busy_ratio } }))
  t.match(of(0.2), { kind: 'full', isIdle: true })
  t.match(of(0.9), { kind: 'full', isIdle: false })
})

t.test('Postgres whose sessions wait for something other than its core is marked, too', async (t) => {
  const of = (/** @type {number} */ core) => {
    const truth = { [POSTGRES]: 0.9, [OTHERS]: core, [SERVICE]: 0.1, [GENERATOR]: 0 }
    return provenBy(recordsWith(truth, { busy: { 0: 0.6, 1: 0.9 } }))
  }
  t.match(of(0.3), { kind: 'full', isIdle: true }, 'a stop of its processes also prolongs what they wait for')
  t.match(of(0.9), { kind: 'full', isIdle: false })
})

t.test('a core that is full in one trial only is not full', async (t) => {
  const records = recordsWith({ [SERVICE]: 0.95, [OTHERS]: 1 }, { noise: 0.02, busy: { 0: 0.9, 1: 0.9 } })
  t.equal(provenBy(records).kind, 'lock-step')
  records[0].probes.kernel.cores = structuredClone(records[0].probes.kernel.cores)
  records[0].probes.kernel.cores[0].busy_ratio = 0.97
  records[1].probes.kernel.cores = structuredClone(records[1].probes.kernel.cores)
  records[1].probes.kernel.cores[1].busy_ratio = 0.97
  t.equal(provenBy(records).kind, 'lock-step')
})

for (const [name, elasticities, options, kind, suspects] of CASES) {
  t.test(`a proof names ${name}`, async (t) => {
    const found = provenBy(recordsWith(elasticities, options))
    t.equal(found.kind, kind)
    if (suspects.length > 0)
      t.strictSame(
        found.suspects.map(({ suspect }) => suspect),
        suspects,
      )
  })
}

t.test('a proxy and the service behind it are rivals; two processes of one program are one suspect', async (t) => {
  /** @param {string} first @param {string} second */
  const proven = (first, second) => {
    const names = [`process 1 (${first})`, `process 2 (${second})`, GENERATOR]
    Object.assign(RESOURCES, { [names[0]]: 'api-cpu', [names[1]]: 'api-cpu' })
    return provenBy(recordsWith({ [names[0]]: 0.55, [names[1]]: 0.54, [GENERATOR]: 0 }, { noise: 0.005 }))
  }
  const rivals = proven('nginx', 'node')
  t.equal(rivals.kind, 'lock-step')
  t.strictSame(rivals.suspects.map(({ suspect }) => suspect).sort(), ['process 1 (nginx)', 'process 2 (node)'])
  const workers = proven('node', 'node')
  t.equal(workers.kind, 'full')
  t.equal(workers.suspects.length, 1)
})
