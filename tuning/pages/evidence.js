import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { tableMarkdown } from '../../load/report/markdown.js'
import { Results } from '../../load/run/results.js'
import { sweep } from '../../load/verbs/sweep/sweep.js'
import { VERBS } from '../verbs.js'

/** @import { TrialRecord } from '../../load/run/trial.js' */

const EVIDENCE = new URL('../evidence/', import.meta.url)

/** @type {Record<string, any>} */
const ALL = { sweep, ...VERBS }

/** @type {Map<string, { run: any, records: TrialRecord[] }>} many parts of the pages quote the same run */
const read = new Map()

/**
 * A run that is committed, which the pages quote.
 *
 * @param {string} name of its folder
 * @returns {{ run: any, records: TrialRecord[] }}
 */
export function evidence(name) {
  const known = read.get(name)
  if (known) return known
  const results = new Results(fileURLToPath(new URL(name, EVIDENCE)))
  const { older } = ALL[results.readRun().verb]
  const found = { run: results.readRun(older), records: results.readTrials(older) }
  read.set(name, found)
  return found
}

/** A table of a committed run's report, as markdown. @param {string} table its name @param {string} name of the run's folder */
export function tableNamed(table, name) {
  const { run, records } = evidence(name)
  const { analyse, report } = ALL[run.verb]
  const found = report(analyse(run.plan, records, run)).find((/** @type {any} */ block) => block.name === table)
  return tableMarkdown(found)
}

/** @param {string} name */
export function isKept(name) {
  return existsSync(new URL(`${name}/run.json`, EVIDENCE))
}
