import { cellName } from '../../../load/report/format.js'
import { ablate } from '../../../tuning/experiments/ablate/ablate.js'
import { balance } from '../../../tuning/experiments/balance/balance.js'
import { bench } from '../../../tuning/experiments/bench/bench.js'
import { compare } from '../../../tuning/experiments/compare/compare.js'
import { faults } from '../../../tuning/experiments/faults/faults.js'
import { gate } from '../../../tuning/experiments/gate/gate.js'
import { overload } from '../../../tuning/experiments/overload/overload.js'
import { playbook } from '../../../tuning/experiments/playbook/playbook.js'
import { processes } from '../../../tuning/experiments/processes/processes.js'
import { ramp } from '../../../tuning/experiments/ramp/ramp.js'
import { secondOpinion } from '../../../tuning/experiments/second-opinion/second-opinion.js'
import { soak } from '../../../tuning/experiments/soak/soak.js'
import { tune } from '../../../tuning/experiments/tune/tune.js'
import { createEndpoints } from './endpoints.js'
import { API_DEFAULTS } from './record.js'
import { createService } from './service.js'
import { COSTS_US, createStages } from './stages.js'

/**
 * @import { Action, Verb } from '../../../load/run/experiment.js'
 * @import { createLab } from './lab.js'
 * @import { Serve } from './service.js'
 */

/**
 * A verb of tuning/ with a command line, a service whose truth is known, and what the verb has to find out about it.
 * @typedef {object} Case
 * @property {string} name
 * @property {Verb | Action} verb
 * @property {string[]} argv
 * @property {Serve} serve
 * @property {Parameters<typeof createLab>[1]} [lab]
 * @property {string[]} pictures
 * @property {(t: any, found: { run: any, records: any[], stdout: string }) => void} holds
 */

const SIDES = ['--a', 'http://127.0.0.1:1/user', '--b', 'http://127.0.0.1:2/user']
const STAGES = { stages: ['log', 'database'], slow_us: {}, rate_rps: 3000 }

/** Says its version, and nobody starts it. The verbs run the same trials whether or not this machine has HAProxy. */
const HAPROXY = 'test/support/simulated/haproxy'

/** As balance plans it for trials of 8 s. */
const FAILS = { failing: { from_s: 1.6, to_s: 4 } }

/** What a cell of a fault sets is read back. */
const FAULTY =
  /** @type {Record<string, { capacity_rps: number, limit: 'api-cpu' | 'pool-size', POOL_MAX: number }>} */ ({
    'pool-of-one': { capacity_rps: 190, limit: 'pool-size', POOL_MAX: 1 },
    'pool-of-one POOL_MAX=4': { capacity_rps: 760, limit: 'pool-size', POOL_MAX: 4 },
    'spinning-handler': { capacity_rps: 900, limit: 'api-cpu', POOL_MAX: Number(API_DEFAULTS.POOL_MAX) },
  })

/** @type {Case[]} */
const CASES = [
  {
    name: 'ablate: the database costs 70 us, the log 15',
    verb: ablate,
    argv: [
      ...['--stages', 'log,database', '--consumers', 'paced,autocannon', '--turns', '24', '--blocks', '8'],
      ...['--duration', '200ms'],
    ],
    serve: createStages(/** @type {any} */ (STAGES), { drift: 0.1, seed: 2 }),
    pictures: ['budget-cpu', 'budget-time', 'elasticities', 'per-second-autocannon'],
    holds: (t, { run, stdout }) => {
      const { lines } = run.budgets.cpu
      t.strictSame(
        lines.map((/** @type {any} */ { stage }) => stage),
        STAGES.stages,
      )
      for (const { stage, cost } of lines) within(t, COSTS_US[stage], cost, stage)
      const published = run.conclusions.at(-1)
      t.match(published, /throughput rises without .*database \(autocannon: 1\.\d\dx .* Why they differ: /)
      t.match(published, / by the proof: slowing core 0 /)
      t.match(stdout, /\| database +\| +1\.\d\dx \[.*\] \| +faster \|/)
    },
  },
  {
    name: 'balance: adaptive takes 0.8 of the time of round robin, and leaves an endpoint that fails',
    verb: balance,
    // Simulating its own worlds takes seconds of CPU.
    argv: ['--only', 'strategies,failing', '--blocks', '6', '--duration', '1s', '--haproxy', HAPROXY],
    serve: createEndpoints(
      /** @type {any} */ ({ fails: FAILS }),
      {
        direct: { p50_ms: 1, leave_s: 0, back_s: 0 },
        'round-robin': { p50_ms: 50, leave_s: 9, back_s: 0 },
        adaptive: { p50_ms: 40, leave_s: 0.65, back_s: 1 },
      },
      { seed: 2 },
    ),
    pictures: ['percentiles-strategies'],
    holds: (t, { run }) => {
      const [, adaptive] = run.strategies
      within(t, 0.8, adaptive.to_reference.p50, 'p50')
      const [stays, leaves] = run.failing
      t.strictSame(stays.leave_s, Array(6).fill(null))
      t.strictSame(leaves.leave_s, Array(6).fill(0.75), 'to a bin')
      t.strictSame(leaves.back_s, Array(6).fill(1))
      t.match(run.conclusion, /^Adaptive divided by round robin, measured .* All four are lower/)
    },
  },
  {
    name: 'bench: single takes a half of batched',
    verb: bench,
    argv: ['--only', 'no-op,batched,single', '--blocks', '2'],
    serve: createService(({ cell }) => ({
      capacity_rps: { 'no-op': 24_000, batched: 20_000, single: 10_000 }[String(cell?.contender)] ?? 0,
      noise: 0.02,
    })),
    pictures: ['inserts'],
    holds: (t, { stdout }) => {
      const [, ratio] = /\| single +\| +[\d,]+ \| +(\S+) \|/.exec(stdout) ?? []
      near(t, Number(ratio), 0.5, 0.05, 'of batched')
    },
  },
  {
    name: 'compare: B is 1.3 times as slow and takes 0.8 of the rate',
    verb: compare,
    argv: [...SIDES, '--concurrency', '1,100', '--blocks', '8', '--duration', '500ms'],
    serve: createService(({ cell }) => ({
      ...(cell.side === 'a' ? { capacity_rps: 1500, least_ms: 4 } : { capacity_rps: 1200, least_ms: 5.2 }),
      ...{ noise: 0.02, latency_noise: 0.03 },
    })),
    pictures: ['latency'],
    holds: (t, { run }) => {
      const [one, hundred, most] = run.differences
      within(t, 1.3, one, one.about)
      within(t, 1500 / 1200, hundred, hundred.about)
      within(t, 0.8, most, most.about)
      t.match(
        run.conclusion,
        /^B is worse than A in p50 at concurrency 1: .*; .* p50 at concurrency 100: .*; .* maximum rate: /,
      )
    },
  },
  {
    name: 'gate: a head that costs 0.95 times as much is better',
    verb: gate,
    argv: ['--url-base', 'http://127.0.0.1:1/', '--url-head', 'http://127.0.0.1:2/'],
    serve: createService(({ cell }) => ({ capacity_rps: cell.side === 'head' ? 1050 : 1000, noise: 0.01 })),
    pictures: [],
    holds: (t, { run, stdout }) => {
      t.match(run, { verdict: 'same or better', exit_code: 0, criterion: 'CPU per request', failure: null })
      within(t, 1 / 1.05, run, 'CPU per request')
      t.match(stdout, /^Same or better: CPU per request of head \/ base: 0\.9/m)
    },
  },
  {
    name: 'faults: a pool of one is named and confirmed, and so is a full core',
    verb: faults,
    argv: ['--only', 'pool-of-one,spinning-handler'],
    serve: createService(({ cell }) => FAULTY[cellName(cell)]),
    lab: { settings: (cell) => ({ POOL_MAX: FAULTY[cellName(cell)].POOL_MAX }) },
    pictures: [],
    holds: (t, { records, stdout }) => {
      t.strictSame(
        records.map(({ cell, limit }) => [cell, limit.resource]),
        [
          [{ fault: 'spinning-handler' }, 'api-cpu'],
          [{ fault: 'pool-of-one' }, 'pool-size'],
          [{ fault: 'pool-of-one', POOL_MAX: 4 }, 'none-reached'],
        ],
      )
      t.match(stdout, 'yes: POOL_MAX=4')
      t.match(stdout, 'Named correctly: 2 of 2.')
    },
  },
  {
    name: 'overload: all of the peak is left where the rest is refused',
    verb: overload,
    argv: ['--duration', '2s', '--blocks', '1'],
    serve: createService({ capacity_rps: 4000, refusal: 503, noise: 0.02 }),
    pictures: [],
    holds: (t, { run, records }) => {
      const [peak, crowd, ...loads] = records.map(({ traffic }) => traffic.goodput_rps)
      near(t, peak, 4000, 400, 'the peak')
      near(t, crowd, 4000, 400, 'as many connections as the loads')
      t.strictSame(
        records.slice(0, 2).map(({ load }) => [load.loop, load.connections]),
        [
          ['closed', 500],
          ['closed', 2000],
        ],
      )
      const { report, analyse } = /** @type {any} */ (overload)
      const [{ text }] = report(analyse(run.plan, records))
      t.match(text, /closed loop: [\d,]+\/s \(\d+ % of it with 2,000 connections\); goodput left/)
      const shares = loads.map((goodput_rps) => goodput_rps / peak)
      for (const [i, share] of [0.5, 1, 0.5, 1, 0.5].entries()) near(t, shares[i], share, 0.1, `load ${i + 1}`)
    },
  },
  {
    name: 'overload --db-delay: every load meets the distance',
    verb: overload,
    argv: ['--duration', '2s', '--db-delay', '5ms', '--connections', '500', '--blocks', '1'],
    serve: createService({ capacity_rps: 4000, refusal: 503, noise: 0.02 }),
    pictures: [],
    holds: (t, { records }) => {
      t.equal(records.length, 6, 'the peak has as many connections already')
      t.ok(records.every(({ cell }) => cell.DB_DELAY_MS === 5))
    },
  },
  {
    name: 'playbook: a claim that holds and one that does not',
    verb: playbook,
    argv: ['--claim', 'batched-takes-more', '--claim', 'prepared-costs-less'],
    serve: createService(({ cell }) => {
      return { capacity_rps: cell?.INSERT_MODE === 'batched' ? 10_000 : 4000, noise: 0.03, cpu_us: 90 }
    }),
    pictures: [],
    holds: (t, { run }) => {
      const [prepared, batched] = ['prepared-costs-less', 'batched-takes-more'].map((name) => {
        return run.claims.find((/** @type {any} */ { id }) => id === name)
      })
      t.strictSame([prepared.verdict, batched.verdict], ['refuted', 'reproduced'])
      within(t, 1, prepared, 'prepared')
      within(t, 2.5, batched, 'batched')
    },
  },
  {
    name: 'processes: two behind HAProxy do 1.6 times the work of one, and one without it 1.25 times',
    verb: processes,
    argv: ['--haproxy', HAPROXY],
    serve: createService(({ cell }) => {
      const by = cell.front === 'direct' ? 1.25 : 1 + 0.6 * (Number(cell.processes) - 1)
      return { capacity_rps: 4000 * by, noise: 0.02 }
    }),
    pictures: [],
    holds: (t, { run }) => {
      const [alone, one, two] = run.setups
      t.strictSame([alone.front, one.to_one, two.processes], ['direct', null, 2])
      // More cores are more set-ups, in other orders: the noise of these two depends on the machine.
      near(t, alone.to_one.ratio, 1.25, 0.06, 'without HAProxy')
      near(t, two.to_one.ratio, 1.6, 0.08, 'two')
      t.match(
        run.conclusion,
        /^Durable rows\/s relative to one API process behind HAProxy: one without HAProxy: 1\.[123]\dx /,
      )
    },
  },
  {
    name: 'ramp: two of A do the work of one B, which reaches the ceiling at twice the workers',
    verb: ramp,
    argv: [...SIDES, '--quick', '--latency-ceiling', '30ms'],
    serve: createService(({ cell }) => ({ capacity_rps: cell.side === 'a' ? 2000 : 4000, noise: 0.02 })),
    pictures: ['latency'],
    holds: (t, { run }) => {
      const { series, work } = run.ramp
      within(t, 2, work, 'of A')
      for (const [i, capacity_rps] of [2000, 4000].entries()) {
        within(t, capacity_rps, series[i].rps, series[i].key)
        near(t, series[i].workers / (capacity_rps * 0.03), 1, 0.05, `workers of ${series[i].key}`)
      }
    },
  },
  {
    name: 'second-opinion: the midpoint of a sweep is what a closed loop gets through',
    verb: secondOpinion,
    argv: ['--blocks', '2', '--driver', 'autocannon'],
    serve: createService({ capacity_rps: 4000, noise: 0.02 }),
    pictures: [],
    holds: (t, { run, records }) => {
      t.strictSame(
        records.filter(({ at }) => at.phase === 'reference').map(({ at }) => at.block),
        [1, 2, 3],
      )
      for (const { ratio, capacity } of run.pairs) {
        near(t, ratio, 1, 0.1, 'midpoint / wrk')
        within(t, 4000, { low: capacity.low_rps, high: capacity.high_rps }, 'the capacity')
      }
    },
  },
  {
    name: 'soak: memory grows by 12 MiB an hour, open files do not',
    verb: soak,
    argv: ['--duration', '10m'],
    serve: leaking(createService({ capacity_rps: 5000 }), 12),
    pictures: ['memory', 'files'],
    holds: (t, { run, records, stdout }) => {
      const [memory, files] = soak.analyse(run.plan, records, run).growths
      near(t, memory.per_hour, 12, 0.01, 'MiB per hour')
      t.match(files, { least: 88, most: 88, per_hour: 0 })
      const words =
        'between 80 and 82 MiB, slope 12.0 MiB per hour (95 % interval: 12.0 to 12.0). Open files: between 88 and 88'
      t.match(stdout.replace(/\s+/g, ' '), `${words}, slope 0.0 per hour`)
      t.match(run.growths, [
        { what: 'memory', unit: 'MiB', low_per_hour: Number },
        { what: 'files', per_hour: 0 },
      ])
    },
  },
  {
    name: 'tune: a pool of 20 takes twice as much as one of 5',
    verb: tune,
    argv: ['--knob', 'POOL_MAX=5,20', '--blocks', '6', '--duration', '500ms', '--capacity', '2000'],
    serve: createService(({ cell }) => ({
      capacity_rps: cell?.POOL_MAX === 20 ? 4000 : 2000,
      limit: 'pool-size',
      noise: 0.01,
    })),
    pictures: ['cells', 'effects-goodput', 'effects-p99', 'effects-cpu'],
    holds: (t, { run, records }) => {
      t.strictSame(run.recommended, { POOL_MAX: 20 })
      const [{ by, effect }] = run.choices
      t.equal(by, 'goodput')
      within(t, 1.5, effect, 'all that is offered')
      const [best, anchor] = tune.analyse(run.plan, records, run).finals
      const least = best.capacity.low_rps / anchor.capacity.high_rps
      const most = best.capacity.high_rps / anchor.capacity.low_rps
      t.ok(least <= 2 && most >= 2, `${least} to ${most} times the capacity`)
    },
  },
  {
    name: 'tune: half of the pool that is needed halves the goodput, and files beyond those in use do nothing',
    verb: tune,
    argv: [],
    serve: createService(({ cell }) => ({
      capacity_rps: Number(cell?.POOL_MAX) <= 20 ? 4000 : 8000,
      limit: 'pool-size',
      noise: 0.01,
    })),
    pictures: ['cells', 'effects-goodput', 'effects-p99', 'effects-cpu', 'elasticities'],
    holds: (t, { run, stdout }) => {
      t.match(run.needs, { statement_ms: 5, nofile: 20_000 })
      near(t, run.needs.capacity_rps, 8000, 400, 'closed loop')
      near(t, run.needs.busy, 40, 2, "database connections by Little's law")
      t.match(
        stdout,
        /What moves the goodput by a tenth or more: POOL_MAX=20 instead of 160: 0\.(49|5\d)x .* \(worse\)\./,
      )
      t.match(stdout, /- POOL_MAX: 8\d does what 160 does\. 20 instead of 160: p99 .* at 1x/)
      t.match(stdout, /- NOFILE: does nothing here\./)
      t.ok(run.elasticities.some((/** @type {any} */ one) => one.resource === 'api-cpu' && one.low < 0.1))
      t.strictSame(run.recommended, { POOL_MAX: 160, POOL_CONNECT_TIMEOUT_MS: 30_000, NOFILE: 20_000 })
    },
  },
  {
    name: 'tune --preset article: a service that loses nothing reproduces the capacity, and refutes what it cannot',
    verb: tune,
    argv: ['--preset', 'article', '--blocks', '1', '--duration', '2s'],
    serve: createService({ capacity_rps: 1000, limit: 'pool-size' }),
    pictures: ['success'],
    holds: (t, { run }) => {
      t.match(run.conclusions[0], { published: /^2,600\/s without failures/, verdict: 'reproduced' })
      t.match(run.conclusions.at(-1).evidence[0], /no request ended without an answer$/)
    },
  },
]

/** @param {Serve} serve @param {number} mib_per_hour @returns {Serve} */
function leaking(serve, mib_per_hour) {
  return (step, trial) => {
    const seen = serve(step, trial)
    return { ...seen, api: { ...seen.api, rss_bytes: (80 + (mib_per_hour * trial.at_s) / 3600) * 2 ** 20 } }
  }
}

/** The truth is in an interval that says something. @param {any} t @param {number} truth @param {{ low: number, high: number | null }} found @param {string} what */
function within(t, truth, { low, high }, what) {
  t.ok(high !== null && low <= truth && truth <= high, `${what}: expected ${truth} in ${low} to ${high}`)
}

/** @param {any} t @param {number} value @param {number} truth @param {number} off @param {string} what */
function near(t, value, truth, off, what) {
  t.ok(Math.abs(value - truth) <= off, `${what}: expected ${truth} within ${off}, got ${value}`)
}

/** The cases of some verbs. @param {(Verb | Action)[]} verbs */
export function casesOf(verbs) {
  return CASES.filter(({ verb }) => verbs.includes(verb))
}
