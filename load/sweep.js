import { isDeepStrictEqual } from 'node:util'
import { DRIVERS } from './drivers/index.js'
import { helpText, parseFlags, UsageError } from './flags.js'
import { capacityOf, nextRung, ratesAround, unanswered } from './ladder.js'
import { PLAN_FLAGS, planOf } from './plan.js'
import { answerText } from './report/report.js'
import { trialTable } from './report/table.js'
import { beginRun, resumeRun } from './results.js'
import { runExperiment } from './run.js'

const PLATEAU_DRIVER = 'autocannon'
const PLATEAU_MAX_DURATION_S = 5

/** The first trial of a run also pays for a cold target: V8 has nothing compiled, no connection is open. */
const PLATEAU_WARMUP_S = 3
const PLATEAU_RATES = 10

/** Stands for a credential in what is written. */
const WITHHELD = '(withheld)'

const FLAGS = {
  ...PLAN_FLAGS,
  out: { value: 'DIR', about: 'folder for the results (default results/<run_id>)' },
  resume: { value: 'DIR', about: 'go on with a run that was cut off' },
  json: { value: '', about: "the run's answer as JSON on stdout, and nothing else there" },
  help: { value: '', about: 'this text' },
}

const EXAMPLES = `  npm run sweep                     about two minutes: how much can the local API take?
  npm run sweep -- --rates 500,1000 --duration 2s --warmup 500ms
  npm run sweep -- --rates 1000,2000,3000 --duration 30s --driver vegeta
  npm run sweep -- --driver autocannon --connections 1,8,64
  npm run sweep -- --url http://127.0.0.1:8080/user --rates 100,200 --slo-p99 50ms`

/**
 * `npm run sweep`: how much can this take? Without rates, a short closed loop finds the plateau, and open-loop rates
 * around it follow.
 *
 * @type {import('./verb.js').Verb}
 */
export const sweep = {
  about: 'how much can this take?',
  help: helpText('npm run sweep -- [flags]\n\nHow much can this take?', FLAGS, EXAMPLES),

  async run(argv, io) {
    const flags = parseFlags(FLAGS, argv)
    const { results, run, plan } = flags.resume ? reopen(flags) : begin(flags, argv)
    const next = (/** @type {Records} */ records) => nextStep(plan, records)
    const answer = (/** @type {Records} */ records) => ({
      capacity: capacity(plan, records),
      limit: null,
      problem: problemOf(plan, records),
    })
    const ended = await runExperiment({ run, plan, results, next, answer }, io)
    const text = [trialTable(ended.records), answerText(ended.run, ended.records)].join('\n\n')
    return { ...ended, text, folder: results.folder, json: flags.json === true }
  },
}

/** @typedef {import('./trial.js').TrialRecord[]} Records */

/** @param {Record<string, any>} flags @param {string[]} argv */
function begin(flags, argv) {
  const plan = planOf(flags)
  checkDriver(plan)
  return { ...beginRun('sweep', { argv: argv.map(withoutCredentials), out: flags.out, plan: keptPlan(plan) }), plan }
}

/**
 * The run in a folder, from where it was cut off. Flags beside --resume have to be those it was started with.
 *
 * @param {Record<string, any>} flags
 */
function reopen({ resume, json, out, ...given }) {
  const { results, run } = resumeRun('sweep', resume)
  results.readTrials()
  const repeated = Object.keys(given).length > 0
  const plan = repeated ? planOf({ seed: run.plan.mix.seed, ...given }) : run.plan
  if (!isDeepStrictEqual(keptPlan(plan), run.plan)) {
    throw new UsageError(`--resume: expected the flags of the run in ${resume} (${run.argv.join(' ')}) or none`)
  }
  if (!repeated && JSON.stringify(run.plan).includes(WITHHELD)) {
    throw new UsageError(
      `--resume: expected the flags of the run in ${resume} again, since its credentials were not kept`,
    )
  }
  checkDriver(plan)
  return { results, run, plan }
}

/** @param {import('./run.js').Plan} plan */
function checkDriver(plan) {
  const { url, mix } = plan
  const drivers = [DRIVERS[plan.driver], ...(needsPlateau(plan) ? [DRIVERS[PLATEAU_DRIVER]] : [])]
  for (const { check } of drivers) check?.({ url: url ?? 'http://127.0.0.1', method: mix.method })
}

/**
 * The next trial: the plateau if the rates hang on it, then the rungs in order, again where a trial was invalid.
 *
 * @param {import('./run.js').Plan} plan
 * @param {Records} records
 * @returns {import('./run.js').Step | null}
 */
export function nextStep(plan, records) {
  const per_s = plan.warmup_s + plan.duration_s
  if (needsPlateau(plan)) {
    const duration_s = Math.min(plan.duration_s, PLATEAU_MAX_DURATION_S)
    const rung = nextRung(plateauRungs(plan), records)
    const warmup_s = Math.max(plan.warmup_s, Math.min(plan.duration_s, PLATEAU_WARMUP_S))
    const load = { driver: PLATEAU_DRIVER, loop: /** @type {const} */ ('closed'), warmup_s, duration_s }
    if (rung) return { experiment: 'plateau', cell: null, left_s: PLATEAU_RATES * per_s, load: { ...load, ...rung } }
  }
  if (needsPlateau(plan) && plateau(records) === 0) return null
  const rungs = rungsOf(plan, records)
  const rung = nextRung(rungs, records)
  if (!rung) return null
  const { name: driver, loop } = DRIVERS[plan.driver]
  const left_s = unanswered(rungs, records).length * per_s
  return {
    experiment: 'sweep',
    cell: null,
    left_s,
    load: { driver, loop, warmup_s: plan.warmup_s, duration_s: plan.duration_s, ...rung },
  }
}

/** @param {import('./run.js').Plan} plan */
function needsPlateau(plan) {
  return DRIVERS[plan.driver].loop === 'open' && plan.rates_rps === null
}

/** @param {import('./run.js').Plan} plan */
function plateauRungs({ connections }) {
  return [{ rate_rps: null, connections: connections[0] }]
}

/** @param {import('./run.js').Plan} plan @param {Records} records */
function rungsOf(plan, records) {
  if (DRIVERS[plan.driver].loop === 'closed')
    return plan.connections.map((connections) => ({ rate_rps: null, connections }))
  const rates = plan.rates_rps ?? ratesAround(plateau(records))
  return rates.map((rate_rps) => ({ rate_rps, connections: plan.connections[0] }))
}

/** @param {Records} records @returns {number} goodput of the closed loop; 0: nothing to go by */
function plateau(records) {
  const found = records.find(({ experiment, outcome }) => experiment === 'plateau' && outcome.verdict !== 'invalid')
  return found?.traffic.goodput_rps ?? 0
}

/** @param {import('./run.js').Plan} plan @param {Records} records */
function capacity(plan, records) {
  const found = capacityOf(records)
  return found && { ...found, slo: plan.slo }
}

/**
 * Why a run that went to its end has no trustworthy answer.
 *
 * @param {import('./run.js').Plan} plan
 * @param {Records} records
 * @returns {string | null}
 */
function problemOf(plan, records) {
  if (needsPlateau(plan) && plateau(records) === 0) {
    const last = records.at(-1)
    return `the closed loop that looks for the plateau found none: ${last?.outcome.because ?? 'no trial'}`
  }
  if (records.length > 0 && records.every(({ traffic }) => traffic.ok === 0)) {
    return `not one request succeeded: ${records.at(-1)?.outcome.because}`
  }
  const open = unanswered(rungsOf(plan, records), records).length
  return open === 0 ? null : `${open} of the loads asked for had no valid trial`
}

/** A plan as it is kept in run.json, and comes back from there. @param {import('./run.js').Plan} plan */
function keptPlan(plan) {
  const headers = plan.mix.headers.map(([name, value]) => [
    name,
    withoutCredentials(`${name}:${value}`).slice(name.length + 1),
  ])
  return JSON.parse(JSON.stringify({ ...plan, mix: { ...plan.mix, headers } }))
}

/** Credentials stay out of the files. @param {string} header a flag or `name:value` */
function withoutCredentials(header) {
  return header.replace(/^((?:--header=)?(?:authorization|cookie|x-api-key):).*/i, `$1${WITHHELD}`)
}
