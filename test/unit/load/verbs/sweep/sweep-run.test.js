import t from 'tap'
import { answerOf, nextStep } from '../../../../../load/capacity/capacity.js'
import { sweep } from '../../../../../load/verbs/sweep/sweep.js'
import { CURVES } from '../../../../../tuning/experiments/simulate/curves.js'
import { checkCase } from '../../../../support/simulated/check.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService, onCurve, randomOf } from '../../../../support/simulated/service.js'
import { memoryFolder, simulate } from '../../../../support/simulated/verb.js'

/** @import { Case } from '../../../../support/simulated/cases.js' */

const TRUE_RPS = 5000

/** A queue needs a while to pass the SLO: in trials of 2 s, up to 5 % more than the capacity pass. */
const QUEUE_RATIO = 1.06

/** @type {Case[]} */
const CASES = [
  {
    name: 'sweep: the capacity that is searched for, and the core that limits it',
    verb: sweep,
    argv: ['--seed', '1'],
    serve: createService({ capacity_rps: TRUE_RPS }),
    pictures: ['capacity', 'latency', 'resources', 'elasticities'],
    holds: (t, { run }) => {
      t.ok(run.capacity.low_rps <= TRUE_RPS * QUEUE_RATIO, `low: ${run.capacity.low_rps}`)
      t.ok(run.capacity.high_rps >= TRUE_RPS, `high: ${run.capacity.high_rps}`)
      t.match(run.limit, { resource: 'api-cpu', confirmed: true })
      const [first, second] = run.elasticities
      t.match(first, { suspect: 'the service', resource: 'api-cpu', pairs: 6 })
      t.match(second, { suspect: 'the generator', resource: 'generator-cpu', pairs: 6 })
      t.ok(first.low <= 1 && first.high >= 1 && second.high < 0.5, JSON.stringify(run.elasticities))
    },
  },
  {
    name: 'sweep: a pool that is relaxed, and moves the capacity',
    verb: sweep,
    argv: ['--seed', '1', '--no-proof'],
    serve: createService(({ cell }) => ({
      capacity_rps: cell?.POOL_MAX === 80 ? 20_000 : TRUE_RPS,
      limit: 'pool-size',
    })),
    pictures: ['capacity', 'latency', 'resources'],
    holds: (t, { run, records }) => {
      t.match(run.limit, { resource: 'pool-size', confirmed: true })
      t.strictSame(
        records.slice(-3).map(({ cell, outcome }) => [cell, outcome.verdict]),
        [
          [null, 'fail'],
          [{ POOL_MAX: 80 }, 'pass'],
          [{ POOL_MAX: 80 }, 'pass'],
        ],
      )
    },
  },
  {
    name: 'sweep --dose 0: a proof in which nothing is slowed',
    verb: sweep,
    argv: ['--seed', '1', '--dose', '0'],
    serve: createService({ capacity_rps: TRUE_RPS }),
    pictures: ['capacity', 'latency', 'resources', 'elasticities'],
    holds: (t, { run, stdout }) => {
      t.match(run.limit, { resource: 'api-cpu', confirmed: null })
      for (const { undosed, elasticity } of run.elasticities) t.ok(undosed && Math.abs(elasticity) < 0.3)
      t.match(stdout, /not\s+slowing\s+the\s+service\s+costs\s+-?\d+\s+%/)
    },
  },
  {
    name: 'sweep --rates: a ladder, each rung once',
    verb: sweep,
    argv: ['--rates', '4000,4900,5500,8000', '--duration', '2s', '--seed', '1'],
    serve: createService({ capacity_rps: TRUE_RPS }),
    pictures: ['capacity', 'latency', 'resources'],
    holds: (t, { run, records }) => {
      t.strictSame(
        records.map(({ load, outcome }) => [load.rate_rps, outcome.verdict]),
        [
          [4000, 'pass'],
          [4900, 'pass'],
          [5500, 'fail'],
          [8000, 'fail'],
        ],
      )
      t.match(run.capacity, { low_rps: 4900, high_rps: 5500, trials: 4, confidence: null })
    },
  },
  {
    name: 'sweep --slo --slo: the capacity by each, of one search',
    verb: sweep,
    argv: ['--slo', 'p99<100ms', '--slo', 'p50 < 6ms, success >= 99.9%', '--seed', '1', '--no-proof'],
    serve: createService({ capacity_rps: TRUE_RPS }),
    pictures: ['slos', 'capacity', 'latency', 'resources'],
    holds: (t, { run, stdout }) => {
      const [first, second] = run.capacities
      t.match(run.capacity, {
        low_rps: first.low_rps,
        high_rps: first.high_rps,
        slo: { p99_ms: 100, success_ratio: 1 },
      })
      t.match(second, { slo: { success_ratio: 0.999, also_ms: { p50: 6 } }, problem: null })
      // The median reaches 6 ms at 4545/s.
      t.ok(
        second.low_rps <= 4700 && second.high_rps >= 4400 && second.high_rps < first.high_rps,
        JSON.stringify(second),
      )
      t.match(stdout.replaceAll(/\s+/g, ' '), /\(p99 below 100 ms and 100 % successes; \d+ trials/)
      t.match(stdout, /^\| p50 below 6 ms and 99.9 %[a-z ]+\| 4,\d+ to 4,\d+\/s \|/m)
    },
  },
  {
    name: 'sweep --rates --slo --slo: a ladder whose trials each judges',
    verb: sweep,
    argv: ['--rates', '4000,4900,5500', '--slo', 'p99<100ms', '--slo', 'p50<6ms', '--seed', '1'],
    serve: createService({ capacity_rps: TRUE_RPS }),
    pictures: ['slos', 'capacity', 'latency', 'resources'],
    holds: (t, { run, records }) => {
      t.equal(records.length, 3)
      t.match(
        run.capacities.map((/** @type {any} */ { low_rps, high_rps }) => `${low_rps} to ${high_rps}`).join(),
        '4900 to 5500,4000 to 4900',
      )
    },
  },
  {
    name: 'sweep: a ladder of connections has no capacity, and says what got through',
    verb: sweep,
    argv: ['--driver', 'autocannon', '--connections', '1,8,64', '--seed', '1'],
    serve: createService({ capacity_rps: TRUE_RPS }),
    pictures: ['goodput', 'latency', 'resources'],
    holds: (t, { run, records }) => {
      t.equal(run.capacity, null)
      t.strictSame(
        records.map(({ traffic }) => traffic.goodput_rps),
        [200, 1600, TRUE_RPS],
      )
    },
  },
]

for (const one of CASES) t.test(one.name, (t) => checkCase(t, one))

t.test('a generator that is the limit gives a lower bound, and says why', async (t) => {
  const service = createService({ capacity_rps: 50_000, generator_rps: 3000 })
  const { code, stdout, run } = await simulate(sweep, ['--out', `${memoryFolder(t)}/bound`], service)
  t.equal(code, 0)
  t.equal(run.answer, 'at-least')
  t.match(run.capacity.bounded_by, /^the generator was .* late at p99/)
  t.match(stdout, /Capacity: at least [\d,]+\/s: more than that could not be offered, since the generator was/)
  t.ok(run.capacity.low_rps > 2000 && run.capacity.low_rps <= 3000 * 1.1, `${run.capacity.low_rps}`)
  t.equal(run.capacity.high_rps, null)
})

t.test('a service that loses rows above some rate has no capacity, and the rate is named', async (t) => {
  const whole = createService({ capacity_rps: TRUE_RPS })
  /** @type {import('../../../../support/simulated/service.js').Serve} */
  const serve = (step, trial) => {
    const seen = whole(step, trial)
    const loses = step.load.loop === 'open' && Number(step.load.rate_rps) > 4000
    return loses ? { ...seen, rows_stored: Math.floor(seen.ok_rps * step.load.duration_s) - 10 } : seen
  }
  const { code, run } = await simulate(sweep, ['--no-proof', '--out', `${memoryFolder(t)}/lost`], serve)
  t.equal(code, 1)
  t.match(run.problem, /^at [\d,]+\/s, no trial could be judged: \d+ requests were answered 201, \d+ rows were stored/)
  t.equal(run.capacity?.bounded_by, undefined)
})

t.test('rows that are lost at the upper end leave no answer, even if another trial there counts', async (t) => {
  const whole = createService({ capacity_rps: TRUE_RPS })
  /** @type {Map<number, number>} */
  const trials = new Map()
  /** @type {import('../../../../support/simulated/service.js').Serve} */
  const serve = (step, trial) => {
    const seen = whole(step, trial)
    const rate_rps = Number(step.load.rate_rps)
    if (step.load.loop === 'closed' || rate_rps <= 4000) return seen
    trials.set(rate_rps, (trials.get(rate_rps) ?? 0) + 1)
    const isFirst = trials.get(rate_rps) === 1
    return isFirst ? seen : { ...seen, rows_stored: Math.floor(seen.ok_rps * step.load.duration_s) - 10 }
  }
  const { code, run } = await simulate(sweep, ['--no-proof', '--out', `${memoryFolder(t)}/some`], serve)
  t.equal(code, 1, JSON.stringify(run.capacity))
  t.match(run.problem, /rows were stored/)
})

t.test('lost rows are reported even if the generator failed in later trials', async (t) => {
  const whole = createService({ capacity_rps: TRUE_RPS })
  let above = 0
  /** @type {import('../../../../support/simulated/service.js').Serve} */
  const serve = (step, trial) => {
    const seen = whole(step, trial)
    if (step.at.phase !== 'search' || Number(step.load.rate_rps) <= 4000) return seen
    const loses = ++above === 1
    return loses ? { ...seen, rows_stored: 10 } : { ...seen, errors: { 'client:ports': 1 } }
  }
  const { code, run } = await simulate(sweep, ['--no-proof', '--out', `${memoryFolder(t)}/hidden`], serve)
  t.equal(code, 1, JSON.stringify(run.capacity))
  t.match(run.problem, /10 rows were stored/)
})

t.test("an SLO below the generator's own precision is answered by the reason", async (t) => {
  const service = createService({ capacity_rps: TRUE_RPS })
  /** @type {import('../../../../support/simulated/service.js').Serve} */
  const late = (step, trial) => ({ ...service(step, trial), ...(step.load.loop === 'open' && { lateness_ms: 1.1 }) })
  const argv = ['--slo-p99', '1ms', '--no-proof', '--out', `${memoryFolder(t)}/short`]
  const { code, run } = await simulate(sweep, argv, late)
  t.equal(code, 1)
  t.match(run.problem, /were invalid; the last one: the generator was .* late at p99/)
})

t.test('sustained: where the generator is the limit, too, a rate has to last', async (t) => {
  const service = createService({ capacity_rps: 50_000, generator_rps: 3000 })
  /** @type {import('../../../../support/simulated/service.js').Serve} */
  const tired = (step, trial) => {
    const seen = service(step, trial)
    return step.load.duration_s >= 60 ? { ...seen, errors: { 'client:ports': 1 } } : seen
  }
  const { code, run } = await simulate(sweep, ['--sustained', '60s', '--out', `${memoryFolder(t)}/tired`], tired)
  t.equal(code, 1)
  t.match(run.problem, /^expected a rate at which the SLO is kept for 60 s, found none/)
})

t.test('sustained: the trial that confirms lasts as long as asked, with a checkpoint in it', async (t) => {
  const argv = ['--sustained', '60s', '--out', `${memoryFolder(t)}/sustained`]
  const { code, run, records } = await simulate(sweep, argv, createService({ capacity_rps: TRUE_RPS }))
  t.equal(code, 0)
  const sustained = records.filter(({ load }) => load.checkpoint)
  t.ok(sustained.length > 0 && sustained.length < records.length)
  for (const { load } of sustained) t.match(load, { duration_s: 60, rate_rps: run.capacity.low_rps })
  t.notOk(records.some(({ load }) => load.duration_s === 60 && !load.checkpoint))
})

t.test('a quick sweep proves and relaxes nothing, and takes fewer trials', async (t) => {
  const run = (/** @type {string[]} */ ...flags) => {
    const argv = [...flags, '--out', `${memoryFolder(t)}/run${flags.length}`]
    return simulate(sweep, argv, createService({ capacity_rps: TRUE_RPS }))
  }
  const [quick, usual] = [await run('--quick'), await run()]
  t.equal(quick.code, 0)
  const phases = (/** @type {any} */ { records }) => new Set(records.map((/** @type {any} */ { at }) => at.phase))
  t.strictSame([...phases(quick)], ['plateau', 'search'])
  t.ok(phases(usual).has('proof'))
  const { low_rps, high_rps } = quick.run.capacity
  t.ok(low_rps < TRUE_RPS && TRUE_RPS < high_rps, `${low_rps} to ${high_rps}`)
  t.ok(quick.run.capacity.trials <= usual.run.capacity.trials)
})

t.test('a generator on the full core of Postgres is charged for what it takes', async (t) => {
  const service = createService({ capacity_rps: TRUE_RPS })
  const beside = (/** @type {number} */ generator_cores, /** @type {number} */ busy_ratio) => {
    const seen = { interrupts_ratio: 0.01, steal_ratio: 0 }
    const cores = { 0: { ...seen, busy_ratio: 0.8 }, 1: { ...seen, busy_ratio } }
    return (/** @type {any} */ step, /** @type {any} */ trial) => {
      return { ...service(step, trial), generator_cores, postgres: { cores: '1' }, kernel: { cores } }
    }
  }
  const said = async (/** @type {string} */ name, /** @type {any} */ serve) => {
    const argv = ['--rates', '4000,6000', '--out', `${memoryFolder(t)}/${name}`]
    return (await simulate(sweep, argv, serve)).stdout.replaceAll(/\s+/g, ' ')
  }
  t.match(
    await said('full', beside(0.2, 0.95)),
    'Postgres and the generator share a core. In the trials in which that core was at least 90 % busy, the generator took 20 % of it. Giving the generator a core of its own can raise the capacity by up to 25 %.',
  )
  t.notMatch(await said('idle', beside(0.2, 0.6)), /the generator took/, 'there was time left')
  t.notMatch(await said('small', beside(0.1, 0.95)), /the generator took/, 'too little to matter')
})

t.test('a service that answers nothing with success is no answer', async (t) => {
  const { code, end, records } = await simulate(
    sweep,
    ['--rates', '100,200', '--out', `${memoryFolder(t)}/dead`],
    () => ({ ok_rps: 0, refused_rps: 100, refusal: 500, mean_ms: 1 }),
  )
  t.equal(code, 1)
  t.equal(records.length, 2)
  t.match(end, /^redline: no trustworthy answer: not one request succeeded: 0 of \d+ succeeded/)
})

const PLAN = /** @type {any} */ ({
  ...{ driver: 'paced', url: null, connections: [64], warmup_s: 0.5, duration_s: 2, searches: true, confirms: true },
  ...{ mix: { name: 'create-user', method: 'POST', seed: 1 }, slo: { p99_ms: 100, success_ratio: 1 } },
})
const SEEDS = 8
const MOST_TRIALS = 60

for (const [name, { create }] of Object.entries(CURVES)) {
  t.test(
    `over ${SEEDS} seeds, the search ends on a service that is ${name}, whatever share of its trials is invalid`,
    async (t) => {
      for (let seed = 1; seed <= SEEDS; seed++) {
        const random = randomOf(seed, 0)
        const invalid = (seed % 4) / 3
        const serve = onCurve(create(random), PLAN.slo)
        const marred = (/** @type {any} */ step, /** @type {any} */ trial) => {
          const seen = serve(step, trial)
          return random() < invalid ? { ...seen, errors: { 'client:ports': 1 } } : seen
        }
        const records = recordsOf(PLAN, nextStep, marred)
        t.ok(records.length > 0 && records.length <= MOST_TRIALS, `seed ${seed}: ${records.length} trials`)
        const { capacity, problem } = answerOf(PLAN, records)
        t.ok(capacity !== null || problem !== null, `seed ${seed}: an answer, or why there is none`)
      }
    },
  )
}
