import { fileURLToPath } from 'node:url'
import { Results } from '../../load/run/results.js'
import { sweep } from '../../load/verbs/sweep/sweep.js'
import { VERBS } from '../verbs.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { TrialRecord } from '../../load/report/record.js'
 */

const EVIDENCE = new URL('../evidence/', import.meta.url)

/** @type {Record<string, any>} */
const ALL = { sweep, ...VERBS }

/** @type {Map<string, Evidence>} many parts of the pages quote the same run */
const read = new Map()

/**
 * A committed run, which the pages quote.
 *
 * @param {string} name of its folder
 * @returns {Evidence}
 *
 * @typedef {object} Evidence
 * @property {any} run run.json
 * @property {TrialRecord[]} records
 * @property {any} findings
 * @property {Block[]} report
 */
export function evidence(name) {
  const known = read.get(name)
  if (known) return known
  const results = new Results(fileURLToPath(new URL(name, EVIDENCE)))
  const { older, analyse, report } = ALL[results.readRun().verb]
  const [run, records] = [results.readRun(older), results.readTrials(older)]
  const findings = analyse?.(run.plan, records, run)
  const found = { run, records, findings, report: findings ? report(findings) : [] }
  read.set(name, found)
  return found
}
