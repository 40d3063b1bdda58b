import { isValid } from '../../capacity/ladder.js'
import { limitsThroughput } from '../../capacity/proving.js'
import { cellName, count, figure, isSameCell } from '../../report/format.js'
import { changeText } from '../../report/proof.js'
import { median } from '../../verdict/ranks.js'
import { moved, relaxedCell } from '../../verdict/relax.js'
import { nextChange, RESOURCES } from '../../verdict/resources.js'
import { refusingText } from './refusals.js'

/**
 * @import { Item } from '../../report/blocks.js'
 * @import { SweepFindings } from './sweep.js'
 * @import { Elasticity, Limit, Plan, TrialRecord } from '../../report/record.js'
 */

/** The limit, with its evidence and what to do about it; empty if none was looked for. @param {SweepFindings} findings @returns {(Item | null)[]} */
export function limitItems(findings) {
  const { limit, plan } = findings
  if (!limit) return []
  const { resource, evidence, runner_up, runner_up_evidence, kind } = limit
  const isUnreached = resource === 'none-reached' && !isHidden(findings)
  const verdict = resource === 'none-reached' ? [] : [confirmationText(findings, limit)]
  const next = `What to change next: ${diagnosis(findings)[1]} (tuning/PLAYBOOK.md#${resource}).`
  return [
    {
      text: `Limit: ${limitText(findings, ': ')}.${kind === 'tie' ? tieText(limit) : runner_up ? ` Runner-up: ${runner_up}.` : ''}`,
      items: [...evidence, ...runner_up_evidence.map((text) => `runner-up, ${runner_up}: ${text}`)],
    },
    ...(isUnreached ? [] : [...verdict, next]),
    unseenText(plan),
  ]
}

/** @param {Pick<Limit, 'runner_up' | 'confirmed'>} limit confirmed by a proof, or named by the trials alone */
function tieText({ runner_up, confirmed }) {
  if (confirmed) return ` By the proof, ${runner_up} limits the throughput as much.`
  return ` The trials named ${runner_up} as often.`
}

/** The limit's name, and what it is. @param {SweepFindings} findings with a limit @param {string} between the two */
export function limitText(findings, between) {
  const [is] = diagnosis(findings)
  return isHidden(findings) ? `not found (none-reached): ${is}` : `${findings.limit?.resource}${between}${is}`
}

/** Whether a service failed with nothing visible at its limit. @param {SweepFindings} findings */
function isHidden({ limit, capacity }) {
  return limit?.resource === 'none-reached' && capacity?.high_rps != null
}

/** The limit in words, and the change to make. @param {SweepFindings} findings */
function diagnosis(findings) {
  const { limit, plan, elasticities = [] } = findings
  const resource = String(limit?.resource)
  if (!isHidden(findings)) return [RESOURCES[resource]?.[0] ?? 'unknown', nextChange(resource, plan.url === null)]
  const refusing = refusingText(findings)
  if (refusing) return [refusing, 'find out what refuses them, such as a rate limit, a full queue or a full pool']
  const outside = plan.url === null ? UNSEEN : 'what limits it is not visible from outside'
  const next = 'find out what requests wait for, such as locks, timers and other services'
  return [waitingText(elasticities) ?? outside, next]
}

const UNSEEN = 'trials missed the SLO, but no resource that can be seen was at its limit'
/** The same bound as in a proof: a suspect whose elasticity is lower is not the limit. */
const LEAST = 0.5

/** Says that requests wait for something hidden; null unless the proof slowed every suspect, and none moved the throughput. @param {Elasticity[]} elasticities */
function waitingText(elasticities) {
  const dosed = elasticities.filter(({ undosed, factor }) => !undosed && !factor)
  const isStill = dosed.every(({ low, high }) => low !== null && low <= 0 && high !== null && high < LEAST)
  if (dosed.length < 2 || !isStill) return null
  const names = dosed.map(({ suspect }) => suspect)
  const list = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  return `slowing ${list} costs little or nothing, so requests wait for something that Redline cannot see: a lock, a timer, a queue of one, or another service`
}

/** Gaps in our knowledge of a service that is not ours, and the flags that fill them. @param {Plan} plan */
function unseenText({ url, start, pids = [], metrics_url, postgres_url }) {
  const hints = [
    ...(start || pids.some(({ name }) => name !== 'postgres') ? [] : ['--pid: its CPU, threads, memory and files']),
    ...(metrics_url ? [] : ['--metrics-url: its own figures']),
    ...(postgres_url ? [] : ["--postgres-url: its database's waits and locks"]),
  ]
  if (url === null || hints.length === 0) return null
  return `Parts of the service were not visible. Flags that show more: ${hints.join('; ')}.`
}

/** Whether a test confirmed the limit and, if so, by what. @param {SweepFindings} findings @param {Limit} limit */
function confirmationText({ elasticities = [], records }, limit) {
  const dosed = elasticities.filter(({ undosed }) => !undosed)
  const wasTested = limitsThroughput(limit.resource) && dosed.length > 0
  const causes = [...relaxingTexts(limit, records), ...(wasTested ? movingOf(limit, dosed).map(changeText) : [])]
  if (limit.confirmed && causes.length > 0) return `Confirmed: ${causes.join('; ')}.`
  return (wasTested ? TESTED : CONFIRMED)[String(limit.confirmed)]
}

/** The effect of relaxing a limit; empty if it was not relaxed, or if that did not help. @param {Limit} limit @param {TrialRecord[]} records */
function relaxingTexts({ resource }, records) {
  const seen = records.findLast(({ at }) => at.phase === 'search')
  const cell = relaxedCell(resource, seen)
  const last = records.findLast((record) => cell && RELAXING.test(record.at.phase) && isSameCell(record.cell, cell))
  if (!last) return []
  const own = records.filter(({ at, load }) => at.phase === last.at.phase && load.rate_rps === last.load.rate_rps)
  if (!moved(own)) return []
  const valid = own.filter(isValid)
  const [before, after] = [valid.filter((record) => !record.cell), valid.filter((record) => record.cell)]
  const [few, more] = [before, after].map((trials) => {
    const passed = trials.filter(({ outcome }) => outcome.verdict === 'pass')
    const goodput_rps = median(trials.map(({ traffic }) => traffic.goodput_rps))
    return { passes: `${passed.length} of ${trials.length}`, rate: `${figure(goodput_rps)}/s` }
  })
  return [
    `with ${cellName(cell)}, ${more.passes} trials at ${count(Number(last.load.rate_rps))}/s met the SLO (without it, ${few.passes}), and ${more.rate} instead of ${few.rate} succeeded`,
  ]
}

const RELAXING = /^relax/

/**
 * The suspects whose dose moved the throughput, and which are the limit: the most elastic one, or all if they take turns. A suspect
 * such as `api-cpu` also stands for what the counters named more precisely, such as `api-gc`.
 * @param {Limit} limit @param {Elasticity[]} dosed most elastic first
 */
function movingOf({ resource }, dosed) {
  const moving = dosed.filter(({ low }) => low !== null && low > 0)
  if (resource === 'lock-step') return moving.filter(({ factor }) => !factor)
  const [part] = resource.split('-')
  const one =
    moving.find((own) => own.resource === resource) ?? moving.find((own) => own.resource.startsWith(`${part}-`))
  return one ? [one] : []
}

/** @type {Record<string, string>} */
const CONFIRMED = {
  true: 'Confirmed: relaxing this limit raised the throughput.',
  false: 'Not confirmed: relaxing it did not raise the throughput.',
  null: 'Not confirmed: Redline has no setting that would lift it, or did not try one.',
}
/** Texts if the proof tested the limit, too; the record does not say whether relaxing or slowing decided. @type {Record<string, string>} */
const TESTED = {
  true: 'Confirmed: relaxing this limit, or slowing the resource behind it, moved the throughput.',
  false: 'Not confirmed: relaxing or slowing it did not move the throughput enough.',
  null: 'Not confirmed: the proof could not tell it from the other suspects.',
}
