import { markdownTable } from 'markdown-table'
import { NONE } from '../../../load/report/format.js'
import { whereAndWhen } from '../../../load/run/old.js'
import { moved } from '../../../load/verdict/relax.js'
import { faultOf, notchOf } from './cells.js'

/** @import { TrialRecord } from '../../../load/run/trial.js' */

/** @typedef {TrialRecord[]} Records */

/**
 * What was planted, and what was named: a row per fault, each name with how often it came.
 *
 * @param {Records} records
 */
export function confusionTable(records) {
  const cases = casesOf(records)
  const head = ['fault', 'planted', 'named', 'runner-up', 'confirmed', 'right']
  const rows = [...new Set(cases.map(({ fault }) => fault))].map((fault) => {
    const own = cases.filter((one) => one.fault === fault)
    return [
      fault.name,
      fault.resource,
      tally(own.map(({ planted }) => planted.limit.resource)),
      tally(own.map(({ planted }) => planted.limit.runner_up ?? NONE)),
      tally(own.map(({ confirmed }) => confirmed)),
      `${own.filter(({ right }) => right).length} of ${own.length}`,
    ]
  })
  const right = cases.filter((one) => one.right).length
  return `${markdownTable([head, ...rows])}\n\n${right} of ${cases.length} named right.`
}

/** "a 2x, b 1x", the most frequent first. @param {string[]} names */
function tally(names) {
  const counts = [...new Set(names)].map((name) => ({ name, times: names.filter((other) => other === name).length }))
  return counts
    .sort((a, b) => b.times - a.times)
    .map(({ name, times }) => (counts.length > 1 || times > 1 ? `${name} ${times}x` : name))
    .join(', ')
}

/**
 * @param {{ repeats: number, faults: string[] }} plan
 * @param {Records} records
 * @returns {string | null} why the diagnosis is not to be trusted
 */
export function problemOf({ repeats, faults }, records) {
  const cases = casesOf(records)
  const wanted = repeats * faults.length
  if (cases.length < wanted) return `${cases.length} of ${wanted} faults were tried`
  const wrong = cases.filter(({ right }) => !right)
  if (wrong.length === 0) return null
  return wrong
    .map(({ fault, planted }) => `${fault.name}: expected ${fault.resource}, got ${planted.limit.resource}`)
    .join('; ')
}

/** @param {any} run @param {Records} records */
export function faultsReport(run, records) {
  const evidence = casesOf(records).map(({ fault, planted }) => {
    return `- **${fault.name}** (${fault.about}): ${planted.limit.resource}. ${planted.limit.evidence.join('; ')}.`
  })
  return `${[
    `# Redline faults: ${run.run_id}`,
    ...(run.problem ? [`No trustworthy answer: ${run.problem}.`] : []),
    confusionTable(records),
    ...(run.plan.skipped ? [`What needs a network namespace was skipped: ${run.plan.skipped}.`] : []),
    '## What each was named for',
    evidence.join('\n'),
    '## Where',
    [`- ${run.pinning}`, whereAndWhen(run)].join('\n'),
  ].join('\n\n')}\n`
}

/** So often a trial is repeated that something else than the fault made invalid. */
const MAX_TRIALS = 3

/**
 * The trial that counts for a fault, of those of one repeat. One that is invalid says nothing, unless that is what was
 * planted.
 *
 * @param {Records} records of one fault and repeat
 * @returns {Records[0] | undefined} undefined: one more is needed
 */
export function plantedTrial(records) {
  const trials = records.filter(({ cell }) => notchOf(cell) === null)
  const makesInvalid = /^(generator|machine)-/.test(trials[0] ? faultOf(trials[0].cell).resource : '')
  const good = trials.find(({ outcome }) => outcome.verdict !== 'invalid' || makesInvalid)
  return good ?? trials[MAX_TRIALS - 1]
}

/**
 * Each fault with its trial, and what became of the limit that was relaxed, by repeats.
 *
 * @param {Records} records
 */
export function casesOf(records) {
  const keys = [...new Set(records.map(({ experiment, cell }) => `${experiment} ${faultOf(cell).name}`))]
  return keys.flatMap((key) => {
    const own = records.filter(({ experiment, cell }) => `${experiment} ${faultOf(cell).name}` === key)
    const planted = plantedTrial(own)
    if (!planted) return []
    const relaxed = own.filter(({ cell }) => notchOf(cell) !== null)
    const notch = notchOf(relaxed[0]?.cell ?? null)
    const did = moved([{ ...planted, cell: null }, ...relaxed])
    const confirmed = notch === null ? NONE : `${did ? 'yes' : 'no'}: ${notch}`
    const fault = faultOf(planted.cell)
    return [{ fault, planted, confirmed, right: planted.limit.resource === fault.resource }]
  })
}
