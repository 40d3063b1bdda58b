import { availableParallelism } from 'node:os'
import { duration, helpText, UsageError, wholeNumber } from '../../../load/command/flags.js'
import { HOSTS_FLAGS, originOf } from '../../../load/generators/hosts/flags.js'
import { seedBeside } from '../../../load/generators/mix.js'
import { MIX_FLAGS, mixOf } from '../../../load/generators/mix-flags.js'
import { livePlan } from '../../../load/run/live-plan.js'
import { runOld } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { expandCores, planCores } from '../../../load/system/machine.js'
import { openSide, SIDE, sideFlag } from '../../knobs/sides.js'
import { agreementsOf } from './agreement.js'
import { withBackground } from './background.js'
import { PRICE, STORAGE } from './cost.js'
import { chosenDrivers, LIST, presentDrivers } from './drivers.js'
import { findingsOf, isFull, mainOf } from './findings.js'
import { rampPictures, rampSentence } from './pictures.js'
import { durationOf, nextStep } from './steps.js'
import { rampReport, rampText } from './tables.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Verb } from '../../../load/run/shell.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Side } from '../../knobs/sides.js'
 * @import { Findings } from './findings.js'
 * @import { RampPlan, Records } from './steps.js'
 */

/** The ceiling is one that a few hundred workers reach here. */
const DEFAULTS = { ceiling_ms: 30, most_workers: 1000, seed: 1 }

/** Six blocks are the least for an interval. A trial lasts some times the ceiling, so that its start weighs little. */
const USUAL = { blocks: 8, growth: 2, least_s: 2, ceilings: 10, warmup_s: 0.5 }
const QUICK = { blocks: 6, growth: 4, least_s: 0.6, ceilings: 2, warmup_s: 0.3 }
const CLOSE = 1.5
const QUICK_S = 80
const LEAST_TIMEOUT_S = 10

/** One failure in a hundred is no ceiling. */
const SUCCESS_RATIO = 0.99

const FLAGS = {
  a: { value: 'URL|FILE', about: `${SIDE} (default: the local API)`, ...sideFlag('a') },
  b: { value: 'URL|FILE', about: 'another one: how many of A do its work?', ...sideFlag('b') },
  'latency-ceiling': {
    value: 'TIME',
    about: `of the mean latency (default ${DEFAULTS.ceiling_ms}ms)`,
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  'max-workers': {
    value: 'N',
    about: `no more than these (default ${DEFAULTS.most_workers})`,
    ...wholeNumber(1, 20_000),
  },
  driver: { value: 'A,B', about: `closed loops: ${LIST.names.join(', ')}; the first one answers`, ...LIST },
  'cross-check': { value: '', about: 'a second driver, and how far the two agree' },
  'price-a': { value: 'N/h', about: 'of one A, in any currency', ...PRICE },
  'price-b': { value: 'N/h', about: 'of one B', ...PRICE },
  'storage-a': { value: 'GBxPRICE', about: 'of one A: gigabytes x price of one for a month', ...STORAGE },
  'storage-b': { value: 'GBxPRICE', about: 'of one B', ...STORAGE },
  background: {
    value: 'RATE',
    about: 'so many writes per second beside it (default none)',
    ...wholeNumber(1, 100_000),
  },
  blocks: { value: 'N', about: `passes over all (default ${USUAL.blocks})`, ...wholeNumber(1, 1000) },
  duration: {
    value: 'TIME',
    about: `of each rung (default ${USUAL.ceilings} ceilings, ${USUAL.least_s}s at least)`,
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  'load-hosts': { ...HOSTS_FLAGS['load-hosts'], about: 'load from these, by ssh: workers of locust (--driver locust)' },
  'ssh-config': HOSTS_FLAGS['ssh-config'],
  quick: { value: '', about: 'steeper climbs and shorter rungs: under two minutes' },
  ...MIX_FLAGS,
  seed: {
    value: 'N',
    about: `of the order and the requests (default ${DEFAULTS.seed})`,
    ...wholeNumber(0, 2 ** 32 - 1),
  },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run ramp -- --quick
  npm run ramp -- --a http://127.0.0.1:8080/user --b http://127.0.0.1:8081/user --latency-ceiling 1000ms
  npm run ramp -- --a a.env --b b.env --price-a 0.192/h --price-b 0.312/h --storage-a 1100GBx0.10
  npm run ramp -- --cross-check --driver autocannon,wrk
  npm run ramp -- --a http://10.0.0.5:3000/user --driver locust --load-hosts ubuntu@10.0.0.6,ubuntu@10.0.0.7`

/** @type {Report} */
const REPORT = { markdown: rampReport, sentence: rampSentence, pictures: rampPictures }

/**
 * `npm run ramp`: how many clients until latency passes a ceiling, at what cost?
 *
 * @type {Verb}
 */
export const ramp = {
  about: 'how many clients until latency passes a ceiling, at what cost?',
  report: REPORT,
  help: helpText(
    'npm run ramp -- [flags]\n\nHow many clients until latency passes a ceiling, at what cost?',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl, warnings } = openRun('ramp', FLAGS, argv, planOf)
    for (const text of warnings) io.progress.note(`warning: ${text}`)
    const present = await presentDrivers(plan).catch((/** @type {Error} */ error) => {
      results.releaseUnused()
      throw error
    })
    for (const text of present.missing) io.progress.note(`goes on without one of its drivers: ${text}`)
    const drivers = Object.keys(present.drivers)
    for (const one of [plan, run.plan]) Object.assign(one, { drivers, driver: drivers[0] })
    Object.assign(run, present)
    io.progress.note(`${plan.blocks} blocks: about ${Math.ceil(durationOf(plan) / 60)} min`)
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records) => nextStep(plan, records),
        answer: (records) => ({ capacity: null, limit: null, ...answerOf(plan, records) }),
        open: async (cell, place) => opened(plan, await openSide(sideOf(plan, cell), place), io.signal),
        report: REPORT,
      },
      io,
    )
    return { ...ended, text: rampText(ended.run, ended.records), folder: results.folder, json }
  },
}

/** @param {Record<string, any>} flags @returns {RampPlan} */
function planOf({ a = { url: null, file: null }, b, without, ...given }) {
  refuseMisfits(b, given)
  const usual = given.quick ? QUICK : USUAL
  const ceiling_ms = given['latency-ceiling'] ?? DEFAULTS.ceiling_ms
  const timeout_s = Math.max(LEAST_TIMEOUT_S, (5 * ceiling_ms) / 1000)
  const duration_s = given.duration
    ? given.duration / 1000
    : Math.max(usual.least_s, (usual.ceilings * ceiling_ms) / 1000)
  const seed = given.seed ?? DEFAULTS.seed
  const base = localPlan({ seed, duration_s, timeout_s })
  const most_workers = given['max-workers'] ?? DEFAULTS.most_workers
  const sides = { a, ...(b && { b }) }
  const mix = mixOf({ ...given, seed })
  const drivers = chosenDrivers(given, Object.values(livePlan({ ...base, sides }).sides))
  const plan = {
    ...base,
    mix,
    // Where no side is ours, no database is.
    url: a.url && (!b || b.url) ? a.url : null,
    driver: drivers[0],
    connections: [most_workers],
    slo: { ...base.slo, success_ratio: SUCCESS_RATIO },
    warmup_s: usual.warmup_s,
    sides,
    drivers,
    cross_checks: given['cross-check'] === true,
    left_out: without ? without.join(', ') : null,
    without: without ? (mixOf({ ...given, without, seed }).entries ?? null) : null,
    ceiling_ms,
    most_workers,
    growth: usual.growth,
    close: CLOSE,
    generator_cores: generatorCores(Object.values(sides)),
    blocks: given.blocks ?? usual.blocks,
    background_rps: given.background ?? 0,
    prices: pricesOf(given),
    ...originOf(
      given,
      { drivers, connections: most_workers, urls: Object.values(sides).map(({ url }) => url) },
      { byHosts: ['locust'], target: 'a URL as --a and --b' },
    ),
  }
  return given.quick && !given.blocks ? { ...plan, blocks: blocksFor(plan) } : plan
}

/** Beside the API, or on a machine that is all ours. @param {Side[]} sides */
function generatorCores(sides) {
  const planned = sides.every(({ url }) => url) ? null : planCores()
  return planned ? expandCores(planned.others).length : availableParallelism()
}

/** As many as there is time for. @param {RampPlan} plan */
function blocksFor(plan) {
  let { blocks } = plan
  while (blocks > 1 && durationOf({ ...plan, blocks }) > QUICK_S) blocks--
  return blocks
}

/** @param {object | undefined} b @param {Record<string, any>} given */
function refuseMisfits(b, given) {
  for (const name of ['a', 'b']) {
    if (given[`storage-${name}`] && !given[`price-${name}`]) {
      throw new UsageError(`--storage-${name}: requires --price-${name}`)
    }
  }
  if (given['price-b'] && !b) throw new UsageError('--price-b: requires --b')
}

/** @param {Record<string, any>} given @returns {RampPlan['prices']} */
function pricesOf(given) {
  const priced = ['a', 'b'].filter((name) => given[`price-${name}`])
  const prices = priced.map((name) => {
    const storage = given[`storage-${name}`] ?? { storage_gb: 0, per_gb_month: 0 }
    return [name, { per_hour: given[`price-${name}`], ...storage }]
  })
  return Object.fromEntries(prices)
}

/** @param {RampPlan} plan @param {string | null} cell */
function sideOf({ sides }, cell) {
  return /** @type {Side} */ (sides[/** @type {'a' | 'b'} */ (cell)])
}

/** @param {RampPlan} plan @param {Target} target @param {AbortSignal} signal */
function opened(plan, target, signal) {
  const { background_rps, mix, timeout_s } = plan
  if (background_rps === 0) return target
  const { mix: users } = localPlan({ seed: seedBeside(mix.seed), duration_s: 1, timeout_s })
  return withBackground(target, plan, { ...users, headers: mix.headers }, signal)
}

/** @param {RampPlan} plan @param {Records} records */
function answerOf(plan, records) {
  const findings = findingsOf(plan, records)
  const agreements = agreementsOf(plan, records, findings)
  return { ramp: { ...findings, agreements }, problem: problemOf(plan, records) ?? fullProblem(plan, findings) }
}

/** @param {RampPlan} plan @param {Records} records */
function problemOf({ sides }, records) {
  const silent = Object.keys(sides).find((name) => {
    return records.every(
      ({ cell, outcome, traffic }) => cell !== name || outcome.verdict === 'invalid' || traffic.ok === 0,
    )
  })
  if (!silent) return null
  const last = records.findLast(({ cell }) => cell === silent)
  return `${silent.toUpperCase()} answered not one request with success: ${last?.outcome.because ?? 'no trial'}`
}

/** Of a ratio of two rates, one of which is the generator's. @param {RampPlan} plan @param {Findings} findings */
function fullProblem({ sides, drivers }, { series }) {
  const full = /** @type {const} */ (['a', 'b']).filter((side) => {
    const found = mainOf(series, side, drivers[0])
    return found && found.blocks > 0 && isFull(found)
  })
  if (!sides.b || full.length === 0) return null
  const names = full.map((side) => side.toUpperCase()).join(' and ')
  return `${drivers[0]} was at its own limit on ${names}, so that how many of A do the work of one B is not known`
}
