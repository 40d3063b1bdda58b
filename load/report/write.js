import { createPainter, standalone } from './chart.js'
import { renderPage } from './page.js'
import { secondsPicture } from './seconds.js'
import { markdownOf, sectionsOf } from './sections.js'
import { trialTable } from './table.js'

/**
 * How a verb's results are shown. All of it is derived from run.json and trials.ndjson, which may be older than the verb:
 * what is not in them is left out.
 *
 * @typedef {object} Report
 * @property {(run: any, records: import('../trial.js').TrialRecord[]) => string} markdown report.md, without pictures
 * @property {(run: any, records: import('../trial.js').TrialRecord[]) => string} sentence the answer in a sentence or two
 * @property {(run: any, records: import('../trial.js').TrialRecord[]) => import('./picture.js').Picture[]} pictures
 */

/** Where what belongs to every trial stands: after what was found, before how. */
const TRIALS = 'Second by second'
const METHOD = /^(Published|What each stage is|How it was measured|Where)$/

/**
 * Writes report.html, and report.md with its pictures beside it.
 *
 * @param {import('../results.js').Results} results
 * @param {Report} report
 * @param {any} run
 * @param {import('../trial.js').TrialRecord[]} records
 */
export async function writePages(results, report, run, records) {
  const markdown = report.markdown(run, records)
  const { title, sections } = sectionsOf(markdown, report.pictures(run, records))
  const seconds = secondsPicture(records)
  const table = trialTable(records)
  const every = [...(seconds ? [seconds] : []), ...(markdown.includes(table) ? [] : [table])]
  const at = sections.findIndex(({ heading }) => heading !== null && METHOD.test(heading))
  const withTrials = (/** @type {(string | import('./picture.js').Picture)[]} */ blocks) => {
    const own = blocks.length === 0 ? [] : [{ heading: TRIALS, blocks }]
    return at === -1 ? [...sections, ...own] : [...sections.slice(0, at), ...own, ...sections.slice(at)]
  }
  const paint = await createPainter()
  const page = { title, sentence: report.sentence(run, records), sections: withTrials(every) }
  writeAll(results, page, { title, sections: withTrials(seconds ? [seconds] : []) }, paint)
}

/**
 * @param {import('../results.js').Results} results
 * @param {Parameters<typeof renderPage>[0]} page
 * @param {{ title: string, sections: import('./sections.js').Section[] }} text
 * @param {Awaited<ReturnType<typeof createPainter>>} paint
 */
export function writeAll(results, page, text, paint) {
  for (const { blocks } of text.sections) {
    for (const block of blocks) {
      if (typeof block !== 'string') results.writeText(`${block.name}.svg`, standalone(paint(block)))
    }
  }
  results.writeText('report.md', markdownOf(text))
  results.writeText('report.html', renderPage(page, paint))
}
