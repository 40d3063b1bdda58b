import { markdownTable } from 'markdown-table'
import { moved } from '../../load/relax.js'
import { whereAndWhen } from '../../load/report/report.js'
import { NONE } from '../../load/report/table.js'
import { faultOf, notchOf } from './cells.js'

/** @typedef {import('../../load/trial.js').TrialRecord[]} Records */

/**
 * What was planted, and what was named: a row per fault and repeat.
 *
 * @param {Records} records
 */
export function confusionTable(records) {
  const head = ['fault', 'planted', 'named', 'runner-up', 'confirmed', 'outcome', 'right']
  const rows = casesOf(records).map(({ fault, planted, confirmed, right }) => [
    fault.name,
    fault.resource,
    planted.limit.resource,
    planted.limit.runner_up ?? NONE,
    confirmed,
    planted.outcome.verdict,
    right ? 'yes' : '**no**',
  ])
  const right = rows.filter((row) => row.at(-1) === 'yes').length
  return `${markdownTable([head, ...rows])}\n\n${right} of ${rows.length} named right.`
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
    '## What each was named for',
    evidence.join('\n'),
    '## Where',
    [`- ${run.pinning}`, whereAndWhen(run)].join('\n'),
  ].join('\n\n')}\n`
}

/**
 * Each fault with its trial, and what became of the limit that was relaxed.
 *
 * @param {Records} records
 */
function casesOf(records) {
  return records
    .filter(({ cell }) => notchOf(cell) === null)
    .map((planted) => {
      const fault = faultOf(planted.cell)
      const relaxed = records.filter(({ cell, experiment }) => {
        return experiment === planted.experiment && notchOf(cell) !== null && faultOf(cell) === fault
      })
      const notch = notchOf(relaxed[0]?.cell ?? null)
      const did = moved([{ ...planted, cell: null }, ...relaxed])
      const confirmed = notch === null ? NONE : `${did ? 'yes' : 'no'}: ${notch}`
      return { fault, planted, confirmed, right: planted.limit.resource === fault.resource }
    })
}
