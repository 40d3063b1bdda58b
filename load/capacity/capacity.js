import { connectionsFor } from '../generators/connections.js'
import { DRIVERS } from '../generators/drivers/index.js'
import { needsOwnDriver, sends } from '../generators/drivers/refuse.js'
import { cellName, count, isSameCell } from '../report/format.js'
import { highestP99Of, sloText } from '../report/slo.js'
import { limitOfRun } from '../verdict/limit.js'
import { moved, planWith, relaxedCell } from '../verdict/relax.js'
import { boundOf, capacityFound, errorsProblem, lastAnswered } from './found.js'
import { COLD_WARMUP_S, isSettled, isValid, MAX_INVALID } from './ladder.js'
import {
  CONFIRM_TIMES,
  failedByChance,
  foundSoFar,
  KEPT_UP_RATIO,
  of,
  plateauOf,
  searchPlan,
  speedOf,
  thoughtOf,
  trialsOf,
} from './of-records.js'
import { pathCell, proofStep, proven } from './proving.js'
import { nextTrial } from './search.js'
import { bySlo, capacitiesOf } from './slos.js'

/** @import { At, Cell, Limit, NotAppliedCell, Plan, Step, TrialRecord } from '../report/record.js' */

/** The closed-loop driver for the first guess: autocannon unless it cannot send the load. @param {Pick<Plan, 'url' | 'mix'>} plan */
export function plateauDriver({ url, mix }) {
  const asked = { url: url ?? '', ...mix }
  return asked.url.startsWith('https:') || sends(asked, 'HEAD') || needsOwnDriver(asked) ? 'workers' : 'autocannon'
}

const PLATEAU_CONNECTIONS = [2, 8, 32, 128, 512]
const PLATEAU_DURATION_S = 1
/** With a long SLO, the closed loop must run long enough to see some responses. */
const PLATEAU_SLO_TIMES = 2
const PLATEAU_MAX_S = 10
const PLATEAU_WARMUP_S = 0.25
/** The ladder stops at the first rung that gains less than this factor: smaller gains are noise. */
const PLATEAU_GAIN = 1.1
/** Multiple of the ladder's goodput to offer next: on few cores, a closed loop takes CPU time that the target could use. */
const OVERLOAD = 2
const MAX_OVERLOADS = 3
/** Multiple of the rate that failed; the margin distinguishes a real shift in capacity from drift. */
const EDGE_SHARE = 1.1
const RELAXED_TRIALS = 2
/** A service that has become faster since the search meets the SLO at that rate. Relaxing a limit then shows nothing, so a higher rate is tried. */
const MOST_RAISES = 2
const POOL = 'pool-size'
/** Phases that test at most two limits, one after the other. */
const ACCUSATIONS = ['relax', 'relax-runner-up']
/** Typical number of trials in a search, for the progress bar. */
const USUAL_TRIALS = 14
const BETWEEN_TRIALS_S = 1

/**
 * The next trial of a capacity run. A short closed-loop ladder and an overload find the plateau, from which an open-loop search
 * starts; it continues for any further SLOs. The run then repeats the first SLO's edge with the suspected limit relaxed, and proves
 * the limit by slowing each suspect. Pure.
 * @param {Plan} plan @param {TrialRecord[]} records
 * @param {NotAppliedCell[]} [notApplied] limits that could not be relaxed
 */
export function nextStep(plan, records, notApplied = []) {
  if (plan.url && !plan.start && lastAnswered(records)) return null
  return (
    plateauStep(plan, records) ??
    overloadStep(plan, records) ??
    searchStep(plan, records) ??
    relaxStep(plan, records, notApplied) ??
    proofStep(plan, records, plateauDriver(plan), changesOf(plan, records, notApplied))
  )
}

/** The answer from the trials so far. Pure. @param {Plan} plan @param {TrialRecord[]} records */
export function answerOf(plan, records) {
  const found = capacityFound(plan, records)
  const limit = lastAnswered(records) ? { limit: null } : proven(limitOf(plan, records), records)
  return { ...found, ...limit, ...capacitiesOf(plan, records, found, capacityFound) }
}

/** @param {Plan} plan @param {TrialRecord[]} records */
function plateauStep(plan, records) {
  const own = of(records, 'plateau').filter(({ load }) => load.loop === 'closed')
  for (const [i, connections] of rungsOf(plan).entries()) {
    const trials = own.filter(({ load }) => load.connections === connections)
    if (!isSettled(trials, isValid, MAX_INVALID)) {
      const load = { driver: plateauDriver(plan), loop: /** @type {const} */ ('closed'), rate_rps: null, connections }
      const warmup_s = own.length === 0 ? COLD_WARMUP_S : PLATEAU_WARMUP_S
      const lasting = { warmup_s, duration_s: plateauDuration(plan) }
      const about = 'closed loops, for a first estimate of the capacity'
      return step(plan, records, { phase: 'plateau' }, null, about, { ...load, ...lasting })
    }
    const before = plateauOf(own.filter(({ load }) => load.connections < connections))
    if (i > 0 && plateauOf(own) <= PLATEAU_GAIN * before) return null
  }
  return null
}

/** Numbers of connections of the closed loops, none above a pinned number: the search has no more, either. @param {Plan} plan */
function rungsOf({ connections_max, connections: [pinned] }) {
  const most = connections_max ? Number.POSITIVE_INFINITY : pinned
  return [...new Set(PLATEAU_CONNECTIONS.map((connections) => Math.min(connections, most)))]
}

/** Offers more than got through in any trial so far, until the target cannot keep up, over no more connections than the ladder used. @param {Plan} plan @param {TrialRecord[]} records */
function overloadStep(plan, records) {
  const own = of(records, 'plateau')
  const overloads = own.filter(({ load }) => load.loop === 'open')
  const last = overloads.at(-1)
  const isOver = last && (!isValid(last) || last.traffic.goodput_rps < KEPT_UP_RATIO * Number(last.load.rate_rps))
  const hasBegun = of(records, 'search').length > 0
  if (plateauOf(own) === 0 || isOver || hasBegun || overloads.length >= MAX_OVERLOADS) return null
  const rate_rps = Math.ceil(OVERLOAD * plateauOf(own))
  const about = 'an overload, to refine the estimate'
  const trial = { rate_rps, duration_s: plateauDuration(plan) }
  const { load, ...rest } = openStep(plan, records, { phase: 'plateau' }, null, about, trial)
  const { connections_needed, ...asked } = load
  return { ...rest, load: { ...asked, connections: Math.min(load.connections, Number(PLATEAU_CONNECTIONS.at(-1))) } }
}

/** @param {Plan} plan @returns {number} s */
function plateauDuration(plan) {
  return Math.max(PLATEAU_DURATION_S, Math.min(PLATEAU_MAX_S, (PLATEAU_SLO_TIMES * highestP99Of(plan)) / 1000))
}

/** The next trial for the first SLO that the trials so far leave unsettled. @param {Plan} plan @param {TrialRecord[]} records */
function searchStep(plan, records) {
  for (const seen of bySlo(plan, records)) {
    const step = stepFor(seen.plan, seen.records)
    if (step) return step
  }
  return null
}

/** @param {Plan} plan @param {TrialRecord[]} records as the plan's SLO sees them */
function stepFor(plan, records) {
  if (plateauOf(records) === 0) return null
  const next = nextTrial(trialsOf(records, plan), searchPlan(plan, records))
  if (!next) return null
  const { purpose } = next
  const { nth_slo = 0 } = plan
  // Two starts of one program differ in speed, so the deciding trials come from more than one start. The longer trial at the end is to
  // show what builds up in time, such as a pause every few seconds or an empty token bucket: a fresh start would hide it.
  const own = of(records, 'search').filter((record) => isValid(record) && (record.at.slo ?? 0) === nth_slo)
  const restart = purpose === 'edge' && !own.some(({ at }) => at.purpose === purpose)
  const at = { phase: 'search', purpose, ...(nth_slo > 0 && { slo: nth_slo }) }
  const about = `${nth_slo > 0 ? `${sloText(plan.slo)}: ` : ''}${thoughtOf(plan, records, next)}`
  const trial = openStep(plan, records, at, null, about, next, restart)
  const isSustained = plan.sustained_s !== undefined && purpose === 'confirm'
  return isSustained ? { ...trial, load: { ...trial.load, checkpoint: true } } : trial
}

/** Tries the edge once unchanged, then twice with the suspected limit relaxed. @param {Plan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied */
function relaxStep(plan, records, notApplied) {
  const edge_rps = edgeOf(plan, records)
  if (!plan.confirms || edge_rps === null) return null
  for (const { phase, cell } of accusations(plan, records)) {
    if (notApplied.some((one) => isSameCell(one.cell, cell))) continue
    const raises = of(records, phase).filter(({ cell, outcome }) => cell === null && outcome.verdict === 'pass').length
    if (raises > MOST_RAISES) continue
    const rate_rps = Math.round(edge_rps * EDGE_SHARE ** raises)
    const own = of(records, phase).filter(({ load }) => load.rate_rps === rate_rps)
    for (const [place, wanted] of /** @type {[Cell | null, number][]} */ ([
      [null, 1],
      [cell, RELAXED_TRIALS],
    ])) {
      const trials = own.filter((record) => isSameCell(record.cell, place))
      const valid = trials.filter(isValid)
      if (valid.length >= wanted || trials.length - valid.length >= MAX_INVALID) continue
      const about = `does the capacity move with ${cellName(cell)}? ${place ? 'With it' : 'First without'}, at the rate that failed`
      return openStep(plan, records, { phase }, place, about, { rate_rps, duration_s: plan.duration_s })
    }
    if (moved(own)) return null
  }
  return null
}

/** Suspects, each with the cell that relaxes it: the limit, then its runner-up. @param {Plan} plan @param {TrialRecord[]} records */
function accusations(plan, records) {
  const limit = searchedLimit(plan, records)
  // The settings before any limit was relaxed.
  const seen = of(records, 'search').at(-1)
  return [limit?.resource, limit?.runner_up].flatMap((resource, i) => {
    // The settings of a service that is not ours stay as they are. The proof tests the pool under overload, where a larger one can show
    // its full gain.
    const cell = plan.url !== null || (plan.proves && resource === POOL) ? null : relaxedCell(resource, seen)
    return cell ? [{ resource: String(resource), phase: ACCUSATIONS[i], cell }] : []
  })
}

/** Cells that a proof applies instead of a dose: a larger pool, a longer path. @param {Plan} plan @param {TrialRecord[]} records @param {NotAppliedCell[]} notApplied */
function changesOf(plan, records, notApplied) {
  const cells = [poolCell(plan, records), pathCell(records)].filter((cell) => cell !== null)
  return cells.filter((cell) => !notApplied.some((one) => isSameCell(one.cell, cell)))
}

/** The cell that relaxes the pool, if it is accused and can be relaxed. @param {Plan} plan @param {TrialRecord[]} records */
function poolCell(plan, records) {
  const limit = searchedLimit(plan, records)
  const mayRelax = plan.confirms || plan.enlarges_pool
  if (!mayRelax || (limit?.resource !== POOL && limit?.runner_up !== POOL)) return null
  return relaxedCell(POOL, of(records, 'search').at(-1))
}

/**
 * The suspected limit with the result of relaxing it: confirmed, refuted, or replaced by its runner-up.
 * @param {Plan} plan @param {TrialRecord[]} records
 * @returns {Limit | null}
 */
function limitOf(plan, records) {
  const limit = searchedLimit(plan, records)
  if (!limit) return null
  const tried = accusations(plan, records).flatMap(({ resource, phase, cell }) => {
    const own = relaxing(records, phase)
    const did = moved(own)
    return did === null ? [] : [{ resource, cell, did, edge: `at ${count(Number(own[0].load.rate_rps))}/s` }]
  })
  const acquitted = tried.filter(({ did }) => !did)
  const guilty = tried.find(({ did }) => did)
  const isAcquitted = acquitted.some(({ resource }) => resource === limit.resource)
  const accused = (guilty ? guilty.resource !== limit.resource : isAcquitted && limit.runner_up) ? other(limit) : limit
  const found = [
    ...acquitted.map(({ resource, cell, edge }) => `relaxing ${resource} (${cellName(cell)}) did not help ${edge}`),
    ...(guilty ? [`with ${cellName(guilty.cell)} the SLO was met, or clearly more got through, ${guilty.edge}`] : []),
  ]
  const wasTried = tried.some(({ resource }) => resource === accused.resource)
  const evidence = [...accused.evidence, ...found]
  // Relaxing broke the tie between two limits that the trials named equally often.
  const decided = guilty && accused.kind === 'tie' && { kind: /** @type {const} */ ('full') }
  return { ...accused, ...decided, evidence, confirmed: wasTried ? guilty !== undefined : null }
}

/** The trials with and without a relaxed limit that belong together: those at the highest rate. @param {TrialRecord[]} records @param {string} phase */
function relaxing(records, phase) {
  const own = of(records, phase)
  const rate_rps = Math.max(...own.map(({ load }) => Number(load.rate_rps)))
  return own.filter(({ load }) => load.rate_rps === rate_rps)
}

/** The limit that the search hit above the capacity. @param {Plan} plan @param {TrialRecord[]} records */
function searchedLimit(plan, records) {
  const found = foundSoFar(plan, records)
  // What did not count for the capacity names no limit of it either.
  const others = [...(speedOf(records)?.others ?? []), ...failedByChance(records, plan)]
  const trials = of(records, 'search').filter((record) => !others.includes(record))
  // If the generator or the machine bounded the search, it was the first limit; trials that failed beyond it hit a later one.
  const asked = boundOf(records, found) ? trials.filter((trial) => !isValid(trial)) : trials
  return limitOfRun(asked, found?.low_rps)
}

/** Swaps the limit and its runner-up. @param {Limit} limit @returns {Limit} */
function other({ resource, evidence, runner_up, runner_up_evidence, confirmed }) {
  const accused = { resource: String(runner_up), evidence: runner_up_evidence }
  return { ...accused, runner_up: resource, runner_up_evidence: evidence, confirmed }
}

/** Rate (requests/s) from which a relaxed limit is tested. @param {Plan} plan @param {TrialRecord[]} records */
function edgeOf(plan, records) {
  const found = errorsProblem(plan, records) ? null : foundSoFar(plan, records)
  return found?.high_rps ? Math.round(found.high_rps * EDGE_SHARE) : null
}

/**
 * @param {Plan} plan @param {TrialRecord[]} records @param {At} at @param {Cell | null} cell
 * @param {string} about @param {{ rate_rps: number, duration_s: number }} trial @param {boolean} [restart] the target first
 */
function openStep(plan, records, at, cell, about, { rate_rps, duration_s }, restart = false) {
  const { name: driver, loop } = DRIVERS[plan.driver]
  const { fresh_connections, unbounded, arrivals } = plan
  const isWarm = isSameCell(records.at(-1)?.cell ?? null, cell) && !(restart && (!plan.url || plan.start))
  const warmup_s = isWarm ? plan.warmup_s : Math.max(plan.warmup_s, COLD_WARMUP_S)
  const load = { driver, loop, rate_rps, ...connectionsFor(planWith(cell, plan), rate_rps), warmup_s, duration_s }
  const how = { fresh_connections, unbounded, times_work: true, ...(arrivals && { arrivals }) }
  return { ...step(plan, records, at, cell, about, { ...load, ...how }), ...(restart && { restart }) }
}

/**
 * @param {Plan} plan @param {TrialRecord[]} records @param {At} at @param {Cell | null} cell
 * @param {string} about @param {Step['load']} load
 * @returns {Step}
 */
function step(plan, records, at, cell, about, load) {
  const trials = Math.max(1, USUAL_TRIALS * (plan.slos?.length ?? 1) - of(records, 'search').length)
  const search_s = trials * (plan.warmup_s + plan.duration_s + BETWEEN_TRIALS_S) + CONFIRM_TIMES * plan.duration_s
  const left_s = ACCUSATIONS.includes(at.phase) ? load.warmup_s + load.duration_s : search_s
  // A service that was already running is as warm after an interruption as before it.
  const isStarted = !plan.url || plan.start
  return { at, cell, left_s, about, ...(isStarted && { cold_warmup_s: COLD_WARMUP_S }), load }
}
