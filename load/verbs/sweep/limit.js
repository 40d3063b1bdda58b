import { limitsThroughput } from '../../capacity/proving.js'
import { RESOURCES } from '../../verdict/resources.js'

/**
 * @import { Item } from '../../report/blocks.js'
 * @import { SweepFindings } from './sweep.js'
 * @import { Limit, Plan } from '../../report/record.js'
 */

/** The limit, with its evidence and what to do about it; empty if none was looked for. @param {SweepFindings} findings @returns {(Item | null)[]} */
export function limitItems(findings) {
  const { limit, plan, elasticities = [] } = findings
  if (!limit) return []
  const { resource, evidence, runner_up, runner_up_evidence, confirmed, kind } = limit
  const [is, change] = diagnosis(findings)
  const wasTested = limitsThroughput(resource) && elasticities.some(({ undosed }) => !undosed)
  const verdict = (wasTested ? TESTED : CONFIRMED)[String(confirmed)]
  const next = `What to change next: ${change} (tuning/PLAYBOOK.md#${resource}).`
  return [
    {
      text: `Limit: ${resource}: ${is}.${kind === 'tie' ? tieText(limit) : runner_up ? ` Runner-up: ${runner_up}.` : ''}`,
      items: [...evidence, ...runner_up_evidence.map((text) => `runner-up, ${runner_up}: ${text}`)],
    },
    ...(resource === 'none-reached' ? [] : [verdict, next]),
    unseenText(plan),
  ]
}

/** @param {Pick<Limit, 'runner_up' | 'confirmed'>} limit confirmed by a proof, or named by the trials alone */
function tieText({ runner_up, confirmed }) {
  return confirmed
    ? ` By the proof, ${runner_up} limits the throughput as much.`
    : ` The trials named ${runner_up} as often.`
}

/** The limit in words, and the change to make. A service that fails with nothing visible at its limit has a hidden one. @param {Pick<SweepFindings, 'limit' | 'capacity' | 'plan'>} findings */
export function diagnosis({ limit, capacity, plan }) {
  const isHidden = limit?.resource === 'none-reached' && capacity?.high_rps != null
  if (isHidden) return [plan.url === null ? UNSEEN : 'what limits it is not visible from outside', '']
  return RESOURCES[String(limit?.resource)] ?? ['unknown', '']
}

const UNSEEN = 'trials missed the SLO, but no resource that can be seen was at its limit'

/** Gaps in our knowledge of a service that is not ours, and the flags that fill them. @param {Plan} plan */
function unseenText({ url, start, pids = [], metrics_url, postgres_url }) {
  const hints = [
    ...(start || pids.some(({ name }) => name !== 'postgres') ? [] : ['--pid: its CPU, threads, memory and files']),
    ...(metrics_url ? [] : ['--metrics-url: its own figures']),
    ...(postgres_url ? [] : ["--postgres-url: its database's waits and locks"]),
  ]
  if (url === null || hints.length === 0) return null
  return `Not everything of the service was seen. What would show more: ${hints.join('; ')}.`
}

/** @type {Record<string, string>} */
const CONFIRMED = {
  true: 'Confirmed: relaxing this limit raised the throughput.',
  false: 'Not confirmed: relaxing it did not raise the throughput.',
  null: 'Not confirmed: not relaxed, or not ours to relax.',
}
/** Texts if the proof tested the limit, too; the record does not say whether relaxing or slowing decided. @type {Record<string, string>} */
const TESTED = {
  true: 'Confirmed: relaxing this limit, or slowing the resource behind it, moved the throughput.',
  false: 'Not confirmed: relaxing or slowing it did not move the throughput enough.',
  null: 'Not confirmed: the proof could not tell it from the other suspects.',
}
