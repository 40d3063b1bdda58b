import { dosed } from '../../../support/simulated/doses.js'

export const LINUX = { pinned: true, cores: 2, limits: true, vegeta: true }
export const ONE_CORE = { pinned: false, cores: 1, limits: false, vegeta: false }

/** A trial with the figures that somebody reads; the rest is as it is on an idle machine. @param {any} made */
function trial({
  goodput = 1000,
  p99 = 20,
  success = 1,
  verdict = 'pass',
  blame,
  resource,
  runner_up = null,
  rate = 1000,
  api,
}) {
  return /** @type {any} */ ({
    load: { loop: 'open', driver: 'paced', rate_rps: rate, connections: 64, warmup_s: 1, duration_s: 3 },
    traffic: {
      planned: 3000,
      ok: Math.round(3000 * success),
      goodput_rps: goodput,
      success_ratio: success,
      latency_ms: { p50: p99 / 4, p99 },
      ok_latency_ms: { p50: p99 / 4, p99 },
      queued_ms: { mean: 1 },
      status: { 201: Math.round(3000 * success) },
      errors: {},
    },
    probes: {
      api: {
        cpu_core_ratio: 0.3,
        statement_mean_ms: 8,
        pool_used_mean: 8,
        pool_waiting_mean: 0,
        statements: 300,
        ...api,
      },
      postgres: { cpu_core_ratio: 0.2 },
      generator: { cpu_core_ratio: 0.2, lateness_ms: { p99: 1 } },
    },
    outcome: { verdict, because: `p99 ${p99} ms`, ...(blame && { blame }) },
    limit: {
      resource: resource ?? (verdict === 'pass' ? 'none-reached' : 'pool-size'),
      evidence: ['some evidence'],
      runner_up,
      runner_up_evidence: [],
    },
  })
}

/** A minute in which the throughput follows Postgres alone, or with 0 nothing. */
export function dosedTrial(elasticity = 1) {
  const slices = ['api-cpu', 'postgres-cpu', 'generator-cpu'].flatMap((resource) =>
    Array.from({ length: 12 }, (_, i) => {
      return { suspect: resource, resource, isDosed: i % 2 === 0, share: i % 2 === 0 ? 0.2 : 0 }
    }),
  )
  const { doses, ticks } = dosed(slices, ({ resource }) => (resource === 'postgres-cpu' ? elasticity : 0))
  const made = trial({ goodput: 140, p99: 300 })
  return { ...made, target: { kind: 'local' }, at: { round: 0 }, doses, traffic: { ...made.traffic, ticks } }
}

const fail = (/** @type {any} */ made) => trial({ verdict: 'fail', ...made })

/**
 * What an exercise measures, made up: before and at first, then what solves it and what does not.
 * @type {Record<string, { before: any, first: any, solves: any, fails: any }>}
 */
export const MADE = {
  knee: {
    before: { peak: trial({ goodput: 1000 }) },
    first: {
      '0.3 x': trial({ rate: 300 }),
      '0.6 x': trial({ rate: 600 }),
      '0.9 x': trial({ rate: 900 }),
      '1.2 x': fail({ rate: 1200, p99: 700 }),
      '2 x': fail({ rate: 2000, p99: 2000 }),
    },
    solves: { promise: trial({ rate: 630 }), 'once more': trial({ rate: 630 }) },
    fails: { promise: trial({ rate: 1800 }), 'once more': fail({ rate: 1800, p99: 900 }) },
  },
  loops: {
    before: { closed: trial({ goodput: 500, p99: 20 }) },
    first: { open: fail({ goodput: 500, p99: 2000, rate: 750 }) },
    solves: { again: fail({ goodput: 490, p99: 1900 }) },
    fails: { again: trial({ goodput: 500, p99: 32 }) },
  },
  liar: {
    before: { peak: trial({ goodput: 10_000 }) },
    first: { 'as told': trial({ goodput: 1000, rate: 7000, p99: 9000, verdict: 'invalid', blame: 'generator' }) },
    solves: { again: trial({ goodput: 6900, rate: 7000 }) },
    fails: { again: trial({ goodput: 900, rate: 7000, p99: 9000 }) },
  },
  little: {
    before: { peak: trial({ goodput: 500 }) },
    first: { 'as it is': fail({ goodput: 500, rate: 1000, p99: 1000 }) },
    solves: { again: trial({ goodput: 1000, rate: 1000 }) },
    fails: { again: fail({ goodput: 600, rate: 1000, p99: 900 }) },
  },
  timeout: {
    before: { peak: trial({ goodput: 500 }) },
    first: { '500 ms': fail({ goodput: 500, success: 0.6, p99: 520 }), '30 s': fail({ goodput: 510, p99: 3000 }) },
    solves: { again: trial({ goodput: 1000 }) },
    fails: { again: fail({ goodput: 500, p99: 3000 }) },
  },
  files: {
    before: { peak: trial({ goodput: 10_000 }) },
    first: { 'as it is': fail({ success: 0.14, resource: 'nofile' }) },
    solves: { again: trial({ api: { open_files: 226 } }) },
    fails: { again: fail({ success: 0.4, resource: 'nofile' }) },
  },
  batching: {
    before: { peak: trial({ goodput: 3000 }) },
    first: { 'as it is': fail({ goodput: 3000, p99: 2000, resource: 'postgres-cpu', runner_up: 'pool-size' }) },
    solves: { again: trial({ goodput: 6000 }), 'new peak': trial({ goodput: 12_000 }) },
    fails: { again: fail({ goodput: 3100, p99: 2000 }), 'new peak': trial({ goodput: 3200 }) },
  },
  overload: {
    before: { peak: trial({ goodput: 500 }) },
    first: { 'no limit': fail({ goodput: 490, p99: 3000 }) },
    solves: { again: fail({ goodput: 460, p99: 170, success: 0.46 }) },
    fails: { again: fail({ goodput: 490, p99: 3000 }) },
  },
  hash: {
    before: { one: trial({ goodput: 8, p99: 150 }) },
    first: { many: fail({ goodput: 8.2, p99: 1000 }) },
    solves: {
      cores: fail({ goodput: 15, p99: 600 }),
      pool: fail({ goodput: 8, p99: 1000 }),
      threads: fail({ goodput: 8, p99: 1000 }),
    },
    fails: { pool: fail({ goodput: 8.1, p99: 1000 }) },
  },
  neighbour: {
    before: { alone: trial({ goodput: 10_000 }) },
    first: { beside: trial({ goodput: 5600 }) },
    solves: { nice: trial({ goodput: 9500 }) },
    fails: { pool: trial({ goodput: 5500 }) },
  },
  messenger: {
    before: { peak: fail({ goodput: 150, p99: 300 }) },
    first: {
      'pool x 4': fail({ goodput: 148, p99: 300 }),
      'once more': fail({ goodput: 151, p99: 300 }),
      doses: dosedTrial(),
    },
    solves: { half: fail({ goodput: 280, p99: 170 }) },
    fails: { clients: fail({ goodput: 160, p99: 280 }) },
  },
  incident: {
    before: { 'last week': trial({ goodput: 3000 }) },
    first: { today: fail({ goodput: 60, rate: 400, p99: 2100, success: 0.2 }) },
    solves: {
      'pool + audit': trial({ goodput: 400, rate: 400, p99: 30 }),
      'only pool': fail({ goodput: 85, rate: 400, p99: 2100, success: 0.3 }),
      'only audit': fail({ goodput: 92, rate: 400, p99: 2100, success: 0.3 }),
    },
    fails: {
      'timeout + pool': fail({ goodput: 85, rate: 400, p99: 2100, success: 0.3 }),
      'only pool': fail({ goodput: 85, rate: 400, p99: 2100, success: 0.3 }),
      'only timeout': fail({ goodput: 60, rate: 400, p99: 9000, success: 0.9 }),
    },
  },
}
