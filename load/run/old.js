import { conditionsOf, settingsText } from './conditions.js'
import { hostLines as linesOfHosts } from './frame.js'
import { runExperiment } from './runner.js'

/**
 * A verb that writes its report as markdown.
 *
 * @param {{ run: any, plan: any, results: any, databaseUrl?: string, next: (records: any[], notApplied: any[]) => any, answer: (records: any[], notApplied: any[]) => any, open?: (cell: any, place: any) => Promise<any>, pinning?: string, report: any }} options
 * @param {import('./runner.js').Io} io
 * @returns {Promise<{ run: any, records: any[] }>}
 */
export function runOld({ run, plan, results, databaseUrl, next, answer, open, pinning, report }, io) {
  const experiment = /** @type {any} */ ({
    name: run.verb,
    design: (/** @type {any} */ _, /** @type {any[]} */ records, /** @type {any[]} */ notApplied) =>
      next(records, notApplied),
    ...(open && { open: (/** @type {any} */ cell, /** @type {any} */ place) => open(cell, place) }),
    ...(pinning && { pinning: () => pinning }),
    analyse: (/** @type {any} */ _, /** @type {any[]} */ records, /** @type {any} */ state) => {
      const { problem, ...kept } = answer(records, state.not_applied)
      return { problem, kept }
    },
    old: report,
  })
  return runExperiment({ experiment, run, plan, results, databaseUrl }, io)
}

/** @param {any} run */
export const whereAndWhen = (run) =>
  conditionsOf(run)
    .map((line) => `- ${line}`)
    .join('\n')

/** @param {any[]} records */
export const settingsLine = (records) => {
  const text = settingsText(records)
  return text && `- ${text}`
}

/** @param {any} run @param {any[]} records */
export const hostLines = (run, records) => linesOfHosts(run, records).map((line) => `- ${line}`)
