import { readdirSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { paragraph } from '../../../load/report/blocks.js'
import { sweep } from '../../../load/verbs/sweep/sweep.js'
import * as VERBS from '../../verbs.js'
import { sourcesOf, writeAgain } from '../report/report.js'

/** @import { Picture } from '../../../load/report/picture.js' */

/** The kept runs, from the repository's root: a page links to them from its own folder. */
export const EVIDENCE = 'tuning/evidence/'

/** The folder of the kept runs. */
const KEPT = fileURLToPath(new URL('../../evidence', import.meta.url))

/** @type {Record<string, Evidence>} a cache, since many parts of the pages quote the same run */
const known = {}

/** @typedef {ReturnType<typeof read>} Evidence */

/** A committed run, which the pages quote. @param {string} folder its name */
export function evidence(folder) {
  known[folder] ??= read(folder)
  return known[folder]
}

/** @param {string} folder */
function read(folder) {
  const [{ experiment, run: kept, records }] = sourcesOf([path.join(KEPT, folder)], { sweep, ...VERBS })
  const findings = experiment.analyse(kept.plan, records, kept)
  // This version of Redline may draw other conclusions from the trials than the version that measured them.
  const run = { ...kept, ...findings.kept }
  return { folder, run, records, findings, report: experiment.report(findings) }
}

/** A picture of a kept run, for a page at the repository's root. @param {string} folder of the run @param {Picture} picture */
export function imageOf(folder, { title, about, name }) {
  return [paragraph(`**${title}.** ${about}`), paragraph(`![${title}](${EVIDENCE}${folder}/${name}.svg)`)]
}

/** The committed reports of all kept runs, as this version of Redline writes them: report.md and its pictures, by their path. */
export async function keptReports() {
  /** @type {Record<string, string>} */
  const files = {}
  for (const folder of readdirSync(KEPT).map((name) => path.join(KEPT, name))) {
    const [source] = sourcesOf([folder], { sweep, ...VERBS })
    await writeAgain(source, {
      folder,
      writeText(name, text) {
        // The page is left out: it holds the pictures twice, and can be made at any time.
        if (name !== 'report.html') files[path.join(folder, name)] = text
      },
    })
  }
  return files
}
