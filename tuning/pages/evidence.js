import { fileURLToPath } from 'node:url'
import { Results } from '../../load/run/results.js'
import { sweep } from '../../load/verbs/sweep/sweep.js'
import { VERBS } from '../verbs.js'

/** @import { Block } from '../../load/report/blocks.js' */

const EVIDENCE = new URL('../evidence/', import.meta.url)

/** @type {Record<string, any>} */
const ALL = { sweep, ...VERBS }

/** @type {Map<string, Evidence>} since many parts of the pages quote the same run */
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
  const results = new Results(fileURLToPath(new URL(folder, EVIDENCE)))
  const { older, analyse, report } = ALL[results.readRun().verb]
  const [kept, records] = [results.readRun(older), results.readTrials(older)]
  const findings = analyse?.(kept.plan, records, kept)
  // What the trials say to this version of Redline.
  const run = { ...kept, ...findings?.kept }
  return { folder, run, records, findings, report: /** @type {Block[]} */ (findings ? report(findings) : []) }
}
