import { createPainter, standalone, WIDTHS } from '../chart.js'
import { tableMarkdown } from '../markdown.js'
import { secondsPicture } from '../seconds.js'
import { trialTable } from '../trials.js'
import { EVERY_TRIAL, markdownOf, sectionsOf } from './sections.js'

/**
 * @import { Results } from '../../run/results.js'
 * @import { TrialRecord } from '../../run/trial.js'
 * @import { Picture } from '../picture.js'
 * @import { Section } from './sections.js'
 */

/**
 * How a verb's results are shown. All of it is derived from run.json and trials.ndjson, which may be older than the verb:
 * what is not in them is left out.
 *
 * @typedef {object} Report
 * @property {(run: any, records: TrialRecord[]) => string} markdown report.md, without pictures
 * @property {(run: any, records: TrialRecord[]) => string} sentence the answer in a sentence or two
 * @property {(run: any, records: TrialRecord[]) => Picture[]} pictures
 */

/** What belongs to every trial stands after what was found, before how. */
const SECONDS = 'Second by second'
const METHOD = /^(Published|What each stage is|How it was measured|Where)$/

/**
 * Writes report.html, and report.md with its pictures beside it.
 *
 * @param {Results} results
 * @param {Report} report
 * @param {any} run
 * @param {TrialRecord[]} records
 */
export async function writePages(results, report, run, records) {
  const markdown = report.markdown(run, records)
  const { title, sections } = sectionsOf(markdown, report.pictures(run, records))
  const seconds = secondsPicture(records)
  const table = tableMarkdown(trialTable(records))
  const at = sections.findIndex(({ heading }) => heading !== null && METHOD.test(heading))
  const before = at === -1 ? sections.length : at
  const text = sections.toSpliced(before, 0, ...(seconds ? [{ heading: SECONDS, blocks: [seconds] }] : []))
  const every = { heading: `${EVERY_TRIAL} (${records.length})`, blocks: [table] }
  const isThere = markdown.includes(table)
  const whole = isThere ? text : text.toSpliced(before + (seconds ? 1 : 0), 0, every)
  const page = { title, sentence: report.sentence(run, records), sections: whole }
  await writeAll(results, page, { title, sections: text })
}

/**
 * @param {Results} results
 * @param {{ title: string, sentence: string, sections: Section[] }} page
 * @param {{ title: string, sections: Section[] }} text of report.md
 */
export async function writeAll(results, page, text) {
  const hasPictures = [...page.sections, ...text.sections].some(({ blocks }) => blocks.some(isPicture))
  // Half a second, which a run pays when it has ended, and not when it begins.
  const [{ renderPage }, painter] = await Promise.all([import('./page.js'), hasPictures ? createPainter() : () => ''])
  const paint = remembered(painter)
  for (const { blocks } of text.sections) {
    for (const block of blocks) {
      if (isPicture(block)) results.writeText(`${block.name}.svg`, standalone(paint(block)))
    }
  }
  results.writeText('report.md', markdownOf(text))
  results.writeText('report.html', renderPage(page, paint))
}

/** @param {string | Picture} block @returns {block is Picture} */
function isPicture(block) {
  return typeof block !== 'string'
}

/**
 * A picture's file and the page show the same drawing, which is made once.
 *
 * @param {(picture: Picture, width: number) => string} paint
 */
function remembered(paint) {
  /** @type {Map<Picture, Map<number, string>>} */
  const drawings = new Map()
  return (/** @type {Picture} */ picture, width = WIDTHS.wide) => {
    const drawn = drawings.get(picture) ?? new Map()
    drawings.set(picture, drawn)
    const drawing = drawn.get(width) ?? paint(picture, width)
    drawn.set(width, drawing)
    return drawing
  }
}
