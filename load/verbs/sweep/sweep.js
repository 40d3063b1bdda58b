import { answerOf, nextStep as nextSearchStep, plateauDriver } from '../../capacity/capacity.js'
import { capacityOf, nextRung, unanswered } from '../../capacity/ladder.js'
import { helpText } from '../../command/flags.js'
import { DRIVERS } from '../../generators/drivers/index.js'
import { shortTrialTable } from '../../report/table.js'
import { openRun, RUN_FLAGS } from '../../run/open-run.js'
import { PLAN_FLAGS, planOf } from '../../run/plan.js'
import { runExperiment } from '../../run/run.js'
import { SSH_FLAGS } from '../../system/ssh/plan.js'
import { limitOfRun } from '../../verdict/limit.js'
import { answerText } from './report.js'
import { SWEEP_REPORT } from './sweep-report.js'

/**
 * @import { NotAppliedCell, Plan, Step } from '../../run/run.js'
 * @import { TrialRecord } from '../../run/trial.js'
 * @import { Verb } from '../../run/verb.js'
 */

const FLAGS = {
  ...PLAN_FLAGS,
  ...SSH_FLAGS,
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run sweep                     one to two minutes: how much can the local API take, and what stops it?
  npm run sweep -- --rates 500,1000 --duration 2s --warmup 500ms
  npm run sweep -- --rates 1000,2000,3000 --duration 30s --driver vegeta
  npm run sweep -- --driver autocannon --connections 1,8,64
  npm run sweep -- --url http://127.0.0.1:8080/user --rates 100,200 --slo-p99 50ms
  npm run sweep -- --url 'https://api.test/user?key={{file key.txt}}' --header 'Authorization: Bearer {{env API_TOKEN}}'
  npm run sweep -- --url http://10.0.0.5:3000/user --driver vegeta --load-hosts ubuntu@10.0.0.6,ubuntu@10.0.0.7
  npm run sweep -- --ssh ubuntu@host --database-url 'postgres://…?sslmode=verify-full&sslrootcert=rds.pem'`

/**
 * `npm run sweep`: how much can this take, and what stops it from taking more? Without rates, a search; with rates, or in
 * a closed loop, the ladder that was asked for.
 *
 * @type {Verb}
 */
export const sweep = {
  about: 'how much can this take, and what stops it?',
  report: SWEEP_REPORT,
  help: helpText(
    'npm run sweep -- [flags]\n\nHow much can this take, and what stops it from taking more?',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl, warnings } = openRun('sweep', FLAGS, argv, planOf, checkDriver)
    for (const text of warnings) io.progress.note(`warning: ${text}`)
    const experiment = plan.searches
      ? {
          next: (/** @type {Records} */ records, /** @type {NotAppliedCell[]} */ notApplied) => {
            return nextSearchStep(plan, records, notApplied)
          },
          answer: (/** @type {Records} */ records) => answerOf(plan, records),
        }
      : {
          next: (/** @type {Records} */ records) => nextStep(plan, records),
          answer: (/** @type {Records} */ records) => ladderAnswer(plan, records),
        }
    const ended = await runExperiment({ run, plan, results, databaseUrl, ...experiment }, io)
    const text = [shortTrialTable(ended.records), answerText(ended.run, ended.records)].join('\n\n')
    return { ...ended, text, folder: results.folder, json }
  },
}

/** @typedef {TrialRecord[]} Records */

/** @param {Plan} plan */
function checkDriver(plan) {
  const { url, mix } = plan
  const drivers = [DRIVERS[plan.driver], ...(plan.searches ? [DRIVERS[plateauDriver(plan)]] : [])]
  for (const { check } of drivers) check?.({ url: url ?? 'http://127.0.0.1', ...mix })
}

/**
 * The next rung of a ladder, in order, again where a trial was invalid.
 *
 * @param {Plan} plan
 * @param {Records} records
 * @returns {Step | null}
 */
function nextStep(plan, records) {
  const rungs = rungsOf(plan)
  const rung = nextRung(rungs, records)
  if (!rung) return null
  const { name: driver, loop } = DRIVERS[plan.driver]
  const { warmup_s, duration_s, fresh_connections, unbounded } = plan
  const left_s = unanswered(rungs, records).length * (warmup_s + duration_s)
  return {
    experiment: 'sweep',
    cell: null,
    left_s,
    load: { driver, loop, warmup_s, duration_s, fresh_connections, unbounded, ...rung },
  }
}

/** @param {Plan} plan */
function rungsOf({ driver, rates_rps, connections }) {
  if (DRIVERS[driver].loop === 'closed') return connections.map((number) => ({ rate_rps: null, connections: number }))
  return (rates_rps ?? []).map((rate_rps) => ({ rate_rps, connections: connections[0] }))
}

/** @param {Plan} plan @param {Records} records */
function ladderAnswer(plan, records) {
  const found = capacityOf(records)
  return {
    capacity: found && { ...found, confidence: null, slo: plan.slo },
    limit: limitOfRun(records, found?.low_rps),
    problem: problemOf(plan, records),
  }
}

/**
 * Why a ladder that went to its end has no trustworthy answer.
 *
 * @param {Plan} plan
 * @param {Records} records
 * @returns {string | null}
 */
function problemOf(plan, records) {
  if (records.length > 0 && records.every(({ traffic }) => traffic.ok === 0)) {
    return `not one request succeeded: ${records.at(-1)?.outcome.because}`
  }
  const open = unanswered(rungsOf(plan), records).length
  return open === 0 ? null : `${open} of the loads asked for had no valid trial`
}
