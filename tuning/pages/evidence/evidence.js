import { fileURLToPath } from 'node:url'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import { VERBS } from '../../verbs.js'
import { sourcesOf } from '../report/report.js'

/** @type {Map<string, Evidence>} a cache, since many parts of the pages quote the same run */
const known = new Map()

/** @typedef {ReturnType<typeof read>} Evidence */

/** A committed run, which the pages quote. @param {string} folder its name */
export function evidence(folder) {
  const found = known.get(folder) ?? read(folder)
  known.set(folder, found)
  return found
}

/** @param {string} folder */
function read(folder) {
  const committed = fileURLToPath(new URL(`../../evidence/${folder}`, import.meta.url))
  const [{ experiment, run: kept, records }] = sourcesOf([committed], { sweep, ...VERBS })
  const findings = experiment.analyse(kept.plan, records, kept)
  // This version of Redline may draw other conclusions from the trials than the version that measured them.
  const run = { ...kept, ...findings.kept }
  return { folder, run, records, findings, report: experiment.report(findings) }
}
