import { duration, helpText, UsageError, wholeNumber } from '../load/flags.js'
import { planCores } from '../load/machine.js'
import { openRun, RUN_FLAGS } from '../load/open-run.js'
import { localPlan } from '../load/plan.js'
import { pinSelf } from '../load/processes.js'
import { runExperiment } from '../load/run.js'
import { PUBLISHED_PARAMETERS } from './balance/adaptive.js'
import { MIN_ENDPOINTS } from './balance/endpoints.js'
import { failingFigures, overheadFigures, processFigures, strategyFigures } from './balance/figures.js'
import { PUBLISHED, simulateAll } from './balance/gains.js'
import { findHaproxy } from './balance/haproxy.js'
import { openStrategy } from './balance/open.js'
import { durationOf, nextStep, PARTS, partsOf, strategiesOf, trialsOf } from './balance/steps.js'
import { balanceReport, balanceText } from './balance/tables.js'
import { answerSentences } from './balance/verdict.js'

/** Of a made-up answer that no endpoint of ours takes. */
const TIMEOUT_S = 10

const DEFAULTS = {
  endpoints: 6,
  slow: { count: 1, extra_ms: 250 },
  rate: 100,
  slots: 16,
  samples: PUBLISHED.samples,
  seed: 1,
}
const FAILING_RPS = 200
const OVERHEAD_RPS = 200

/** Six blocks are the least for an interval of 95 %. */
const USUAL = {
  sizes: {
    overhead: { blocks: 8, warmup_s: 0.5, duration_s: 2, rate_rps: OVERHEAD_RPS },
    strategies: { blocks: 6, warmup_s: 1, duration_s: 10, rate_rps: DEFAULTS.rate },
    failing: { blocks: 3, warmup_s: 1, duration_s: 12, rate_rps: FAILING_RPS },
    processes: { blocks: 6, warmup_s: 1, duration_s: 3, rate_rps: null },
  },
  fails: { strategies: { from_s: 2, to_s: 5 }, failing: { from_s: 2, to_s: 6 } },
  workers: [1, 16],
}
const QUICK = {
  sizes: {
    overhead: { blocks: 2, warmup_s: 0.3, duration_s: 1, rate_rps: OVERHEAD_RPS },
    strategies: { blocks: 2, warmup_s: 0.5, duration_s: 2.5, rate_rps: DEFAULTS.rate },
    failing: { blocks: 1, warmup_s: 0.5, duration_s: 4, rate_rps: FAILING_RPS },
    processes: { blocks: 1, warmup_s: 0.5, duration_s: 1, rate_rps: null },
  },
  fails: { strategies: { from_s: 0.5, to_s: 1.2 }, failing: { from_s: 0.6, to_s: 1.8 } },
  workers: [1],
}

/** @param {number} above @param {number} most */
function factor(above, most) {
  return {
    parse: (/** @type {string} */ text) => {
      const value = /^\d{1,6}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN
      return value > above && value <= most ? value : undefined
    },
    expected: `a number above ${above}, at most ${most}`,
  }
}

/** `1x250ms` @param {string} text @returns {import('./balance/endpoints.js').Slow | undefined} */
function slowness(text) {
  const [, number, time = ''] = /^(\d{1,2})x(.+)$/.exec(text) ?? []
  const extra_ms = duration(time)
  return extra_ms === undefined ? undefined : { count: Number(number), extra_ms }
}

const { factor: byDefault, error_factor, decay, min_samples } = PUBLISHED_PARAMETERS

const FLAGS = {
  endpoints: {
    value: 'N',
    about: `local endpoints, uneven by design (default ${DEFAULTS.endpoints})`,
    ...wholeNumber(MIN_ENDPOINTS, 50),
  },
  slow: {
    value: 'NxTIME',
    about: `so many of them are slower by so much (default 1x250ms)`,
    parse: slowness,
    expected: 'a number and a time such as 1x250ms',
  },
  rate: { value: 'N', about: `requests/s over uneven endpoints (default ${DEFAULTS.rate})`, ...wholeNumber(1, 5000) },
  slots: {
    value: 'N',
    about: `requests that an endpoint works on at once (default ${DEFAULTS.slots})`,
    ...wholeNumber(1, 1000),
  },
  factor: { value: 'X', about: `adaptive: priority factor (default ${byDefault})`, ...factor(0, 100) },
  'error-factor': { value: 'X', about: `adaptive: of an error (default ${error_factor})`, ...factor(0, 100) },
  decay: { value: 'X', about: `adaptive: of a score above 1 (default ${decay})`, ...factor(0, 1) },
  'min-samples': {
    value: 'N',
    about: `adaptive: before it scores (default ${min_samples})`,
    ...wholeNumber(1, 100_000),
  },
  samples: { value: 'N', about: `of the simulation (default ${DEFAULTS.samples})`, ...wholeNumber(100, 10_000_000) },
  only: {
    value: 'A,B,C',
    about: `some of ${PARTS.join(', ')}`,
    parse: (/** @type {string} */ text) => {
      const names = text.split(',')
      return names.every((name) => PARTS.some((part) => part === name)) ? names : undefined
    },
    expected: `some of ${PARTS.join(',')}`,
  },
  blocks: { value: 'N', about: 'passes over the strategies, in every part', ...wholeNumber(1, 1000) },
  haproxy: { value: 'FILE', about: 'the program (default: on PATH, or where Debian puts it)' },
  quick: { value: '', about: 'fewer and shorter trials: under two minutes' },
  seed: { value: 'N', about: `of orders and answers (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run balance                                about 15 minutes
  npm run balance -- --quick --slow 2x250ms
  npm run balance -- --only simulation --factor 0.6`

/**
 * `npm run balance`: does adaptive balancing beat round robin over uneven endpoints?
 *
 * @type {import('../load/verb.js').Verb}
 */
export const balance = {
  about: 'does adaptive balancing beat round robin over uneven endpoints?',
  help: helpText(
    'npm run balance -- [flags]\n\nDoes adaptive balancing beat round robin over uneven endpoints, and does HAProxy beat both?',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json } = openRun('balance', FLAGS, argv, planOf)
    if (plan.haproxy_missing) io.progress.note(plan.haproxy_missing)
    io.progress.note(`${plan.parts.join(', ')}: about ${Math.ceil(durationOf(plan) / 60)} min`)
    const proxyCores = plan.url ? pinnedAside() : null
    const ended = await runExperiment(
      {
        run,
        plan,
        results,
        next: (records) => nextStep(plan, records),
        answer: (records) => ({ capacity: null, limit: null, ...answerOf(plan, records) }),
        open: (cell, place) => openStrategy(plan, String(cell), { ...place, cores: place.cores ?? proxyCores }),
        report: balanceReport,
      },
      io,
    )
    return { ...ended, text: balanceText(ended.run, ended.records), folder: results.folder, json }
  },
}

/** @typedef {import('./balance/steps.js').BalancePlan & { haproxy_version: string | null, haproxy_missing: string | null }} Plan */

/** @param {Record<string, any>} flags @returns {Plan} */
function planOf(flags) {
  const { endpoints, slow, rate, slots, samples, seed } = /** @type {any} */ ({ ...DEFAULTS, ...flags })
  if (slow.count > endpoints - MIN_ENDPOINTS + 1) {
    throw new UsageError(
      `--slow: expected at most ${endpoints - MIN_ENDPOINTS + 1} of ${endpoints} endpoints, got ${slow.count}`,
    )
  }
  const usual = flags.quick ? QUICK : USUAL
  const sizes = Object.fromEntries(
    Object.entries(usual.sizes).map(([part, size]) => [part, { ...size, blocks: flags.blocks ?? size.blocks }]),
  )
  const parts = PARTS.filter((part) => (flags.only ?? PARTS).includes(part))
  const found = findHaproxy(flags.haproxy)
  const plan = localPlan({ seed, duration_s: sizes.strategies.duration_s, timeout_s: TIMEOUT_S })
  return {
    ...plan,
    // Without the API there is no need of a database.
    url: parts.includes('processes') ? null : 'http://127.0.0.1/',
    // Errors are what is counted here; no trial fails by them.
    slo: { ...plan.slo, success_ratio: 0 },
    parts,
    endpoints,
    slow,
    slots,
    samples,
    workers: usual.workers,
    fails: usual.fails,
    sizes: /** @type {any} */ ({ ...sizes, strategies: { ...sizes.strategies, rate_rps: rate } }),
    processes: processCounts(),
    parameters: {
      factor: flags.factor ?? byDefault,
      error_factor: flags['error-factor'] ?? error_factor,
      decay: flags.decay ?? decay,
      min_samples: flags['min-samples'] ?? min_samples,
    },
    haproxy: found.program,
    haproxy_version: found.program === null ? null : found.version,
    haproxy_missing: found.program === null ? `${found.because}; this run goes on without it` : null,
  }
}

/** One, two, and as many as there are cores for, one left for the others. */
function processCounts() {
  const cores = planCores()
  const most = cores ? cores.others.split(',').length : 1
  return [...new Set([1, 2, most])].sort((a, b) => a - b)
}

/** The core of the balancer, when everything else has been put on the others. @returns {string | null} */
function pinnedAside() {
  const cores = planCores()
  return cores && pinSelf(cores.others) ? cores.api : null
}

/** @param {Plan} plan @param {import('./balance/steps.js').Records} records */
function answerOf(plan, records) {
  const simulation = plan.parts.includes('simulation') ? simulateAll(plan) : null
  const strategies = strategyFigures(plan, records)
  return {
    answer: answerSentences(strategies, simulation).join(' '),
    strategies,
    failing: failingFigures(plan, records),
    overhead: overheadFigures(plan, records),
    processes: processFigures(plan, records),
    simulation,
    problem: problemOf(plan, records),
  }
}

/** @param {Plan} plan @param {import('./balance/steps.js').Records} records */
function problemOf(plan, records) {
  for (const part of partsOf(plan)) {
    const silent = strategiesOf(part, plan).find((strategy) => trialsOf(records, part, strategy).length === 0)
    if (silent) {
      const last = records.findLast(({ cell }) => cell === `${part}/${silent}`)
      return `${part}: ${silent} had not one valid trial: ${last?.outcome.because ?? 'no trial'}`
    }
  }
  return null
}
