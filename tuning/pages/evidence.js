import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Results } from '../../load/run/results.js'

/** @import { TrialRecord } from '../../load/run/trial.js' */

const EVIDENCE = new URL('../evidence/', import.meta.url)

/** @type {Map<string, { run: any, records: TrialRecord[] }>} many parts of the pages quote the same run */
const read = new Map()

/**
 * A run that is committed, which the pages quote.
 *
 * @param {string} name of its folder
 * @returns {{ run: any, records: TrialRecord[] }}
 */
export function evidence(name) {
  const results = new Results(fileURLToPath(new URL(name, EVIDENCE)))
  const found = read.get(name) ?? { run: results.readRun(), records: results.readTrials() }
  read.set(name, found)
  return found
}

/** @param {string} name */
export function isKept(name) {
  return existsSync(new URL(`${name}/run.json`, EVIDENCE))
}
