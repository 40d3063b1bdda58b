import { failureText, stoppedText } from '../../capacity/advice.js'
import { answerOf, nextStep as nextSearchStep, plateauDriver } from '../../capacity/capacity.js'
import { capacityOf, contradictedRung, isRefused, isValid, nextRung, unanswered } from '../../capacity/ladder.js'
import { speedOf } from '../../capacity/of-records.js'
import { bySlo, capacitiesOf } from '../../capacity/slos.js'
import { connectionsFor } from '../../generators/connections.js'
import { DRIVERS } from '../../generators/drivers/index.js'
import { playTime_s, skippedText } from '../../generators/replay.js'
import { answer, drawn, list } from '../../report/blocks.js'
import { offered } from '../../report/format.js'
import { proofBlocks } from '../../report/proof.js'
import { shortTrialTable } from '../../report/trials.js'
import { PLAN_FLAGS, planOf, refuseEnded } from '../../run/plan.js'
import { SSH_FLAGS } from '../../system/ssh/plan.js'
import { limitOfRun } from '../../verdict/limit.js'
import { sweepItems, sweepSentence } from './answer.js'
import { costBlocks } from './costs.js'
import { entryBlocks } from './entries.js'
import { sweepPictures } from './pictures.js'
import { proofItems } from './proof.js'
import { sloBlocks } from './slos.js'

/**
 * @import { Rung } from '../../capacity/ladder.js'
 * @import { Experiment } from '../../run/experiment.js'
 * @import { Capacity, Elasticity, Limit, Plan, Replay, Run, SloCapacity, Step, TrialRecord } from '../../report/record.js'
 */

/**
 * Finds the capacity and the bottleneck: with a search or, if rates are given or the loop is closed, with the requested ladder.
 * @type {Experiment<Plan>}
 */
export const sweep = {
  name: 'sweep',
  about: 'how many requests per second can a service take, and what limits it?',
  flags: { ...PLAN_FLAGS, ...SSH_FLAGS },
  examples: `  npm run sweep                     about four minutes: the capacity of the local API, and what limits it
  npm run sweep -- --rates 500,1000 --duration 2s --warmup 500ms
  npm run sweep -- --rates 1000,2000,3000 --duration 30s --driver vegeta
  npm run sweep -- --driver autocannon --connections 1,8,64
  npm run sweep -- --url http://127.0.0.1:8080/user --rates 100,200 --slo-p99 50ms
  npm run sweep -- --slo 'p50<5ms,p99<50ms,success>=99.9%' --slo 'p99<200ms'
  npm run sweep -- --url http://127.0.0.1:8080/user --pid 4711 --postgres-url '{{env SHOP_DATABASE}}'
  npm run sweep -- --url http://127.0.0.1:8080/ --start 'node server.js' --method GET
  npm run sweep -- --url http://127.0.0.1:8080 --mix mix.json --data users.csv
  npm run sweep -- --url http://127.0.0.1:8080/ --replay access.log --speed 1,2
  npm run sweep -- --url 'https://api.test/user?key={{file key.txt}}' --header 'Authorization: Bearer {{env API_TOKEN}}'
  npm run sweep -- --url http://10.0.0.5:3000/user --driver vegeta --load-hosts ubuntu@10.0.0.6,ubuntu@10.0.0.7
  npm run sweep -- --ssh ubuntu@host --database-url 'postgres://…?sslmode=verify-full&sslrootcert=rds.pem'`,
  plan: planOf,
  async prepare(plan, { run }, { progress }) {
    checkDrivers(plan)
    refuseEnded(plan)
    const skipped = plan.mix.replay && skippedText(plan.mix.replay)
    if (!skipped) return
    progress.note(`warning: ${skipped}`)
    return { warnings: [...(run.warnings ?? []), skipped] }
  },
  design: (plan, records, notApplied) => {
    return plan.searches ? nextSearchStep(plan, records, notApplied) : ladderStep(plan, records)
  },
  analyse(plan, records, run) {
    const { problem: ownProblem, ...all } = plan.searches ? answerOf(plan, records) : ladderAnswer(plan, records)
    // What broke a run off goes before what its trials lack.
    const problem = run?.problem ?? ownProblem
    const { replay } = plan.mix
    const found = { ...all, capacity: all.capacity && replay ? comparedTo(replay, all.capacity) : all.capacity }
    const answer = kindOfAnswer(plan, found.capacity, problem)
    const not_counted = speedOf(records)?.others ?? []
    return { problem, kept: { answer, ...found, ...(replay && { replay }) }, not_counted, ...found, plan, records }
  },
  report: (/** @type {SweepFindings} */ findings) => [
    answer(sweepSentence(findings)),
    list([...sweepItems(findings), ...proofItems(findings)]),
    ...sloBlocks(findings),
    ...sweepPictures(findings).map(drawn),
    { ...shortTrialTable(findings.records, findings.not_counted), brief: true },
    ...entryBlocks(findings.records),
    ...proofBlocks(findings),
    ...costBlocks(findings),
  ],
}

/** @typedef {{ problem?: string | null, plan: Plan, records: TrialRecord[], capacity: Capacity | null, capacities?: SloCapacity[], limit: Limit | null, elasticities?: Elasticity[], not_counted?: TrialRecord[] }} SweepFindings */

/** @param {Plan} plan */
function checkDrivers(plan) {
  const drivers = [DRIVERS[plan.driver], ...(plan.searches ? [DRIVERS[plateauDriver(plan)]] : [])]
  for (const { check } of drivers) check?.({ url: plan.url ?? 'http://127.0.0.1', ...plan.mix })
}

/** The next rung of a ladder, in order; repeats invalid and contradictory ones. @param {Plan} plan @param {TrialRecord[]} records @returns {Step | null} */
function ladderStep(plan, records) {
  const rungs = rungsOf(plan)
  const judged = bySlo(plan, records).map((seen) => seen.records)
  const open = [...judged.map((own) => nextRung(rungs, own)), ...judged.map((own) => contradictedRung(rungs, own))]
  const rung = open.find((one) => one !== null)
  if (!rung) return null
  const { name: driver, loop } = DRIVERS[plan.driver]
  const { warmup_s, fresh_connections, unbounded, arrivals } = plan
  const left = unanswered(rungs, records)
  const left_s = (left.length > 0 ? left : [rung]).reduce((sum, { duration_s }) => sum + warmup_s + duration_s, 0)
  const how = { fresh_connections, unbounded, ...(arrivals && { arrivals }) }
  return { at: { phase: 'ladder' }, cell: null, left_s, load: { driver, loop, warmup_s, ...how, ...rung } }
}

/** @param {Plan} plan @returns {(Rung & { duration_s: number, connections_needed?: number })[]} */
function rungsOf(plan) {
  const { driver, rates_rps, connections, duration_s, mix } = plan
  if (DRIVERS[driver].loop === 'closed') {
    return connections.map((number) => ({ duration_s, rate_rps: null, connections: number }))
  }
  return (rates_rps ?? []).map((rate_rps) => {
    const length_s = mix.replay ? playTime_s(mix.replay, rate_rps) : duration_s
    return { duration_s: length_s, rate_rps, ...connectionsFor(plan, rate_rps) }
  })
}

/** Adds the capacity as a multiple of the recorded load. @param {Replay} replay @param {Capacity} capacity @returns {Capacity} */
function comparedTo({ mean_rps }, capacity) {
  const times = (/** @type {number | null} */ rate_rps) => rate_rps && Number((rate_rps / mean_rps).toPrecision(3))
  return { ...capacity, times_recorded: { low: times(capacity.low_rps), high: times(capacity.high_rps) } }
}

/** @param {Plan} plan @param {Capacity | null} capacity @param {string | null} problem @returns {Run['answer']} */
function kindOfAnswer({ driver }, capacity, problem) {
  if (DRIVERS[driver].loop === 'closed') return null
  if (problem || !capacity) return 'none'
  return capacity.high_rps === null ? 'at-least' : 'interval'
}

/** @param {Plan} plan @param {TrialRecord[]} records */
function ladderAnswer(plan, records) {
  const first = ladderCapacity(plan, records)
  const limit = limitOfRun(records, first.capacity?.low_rps)
  return { ...first, limit, ...capacitiesOf(plan, records, first, ladderCapacity) }
}

/**
 * The last trial in which a service succeeded before it stopped for good; null if it goes on. Under a higher load than any before, it
 * may only be swamped, unless it refuses all connections.
 * @param {TrialRecord[]} records
 */
function stoppedAfter(records) {
  const last = records.findLastIndex(({ traffic }) => traffic.ok > 0)
  const loadOf = (/** @type {TrialRecord} */ { load }) => load.rate_rps ?? load.connections
  const served = records.filter(({ traffic }) => traffic.ok > 0).map(loadOf)
  const since = records.slice(last + 1).filter(isValid)
  const hasStopped = since.some((record) => isRefused(record) || loadOf(record) <= Math.max(...served))
  return hasStopped ? (records[last] ?? null) : null
}

/** Why no capacity follows from a ladder whose service answered nothing, or stopped. @param {TrialRecord[]} records */
function deadText(records) {
  const last = records.at(-1)
  if (!last) return null
  if (records.every(({ traffic }) => traffic.ok === 0)) return `not one request succeeded: ${failureText(last)}`
  const answered = stoppedAfter(records)
  return answered && stoppedText(answered, last, 'under a load under which some had')
}

/** Most loads without a valid trial that are named. */
const MOST_NAMED = 3

/** @param {Rung[]} open loads without a valid trial @param {TrialRecord[]} records */
function openText(open, records) {
  const named = open.slice(0, MOST_NAMED).map((rung) => {
    const own = records.filter(({ load }) => {
      return load.rate_rps === rung.rate_rps && (rung.rate_rps !== null || load.connections === rung.connections)
    })
    return `${offered(rung)} (${own.findLast((record) => !isValid(record))?.outcome.because ?? 'not tried'})`
  })
  const more = open.length > named.length ? ', …' : ''
  return `${open.length} of the loads asked for had no valid trial: ${named.join(', ')}${more}`
}

/** @param {Plan} plan @param {TrialRecord[]} records as the plan's SLO has judged them */
function ladderCapacity(plan, records) {
  const found = capacityOf(records)
  const open = unanswered(rungsOf(plan), records)
  const dead = deadText(records)
  return {
    capacity: dead || !found ? null : { ...found, confidence: null, slo: plan.slo },
    problem: dead || (open.length > 0 ? openText(open, records) : null),
  }
}
