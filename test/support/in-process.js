import { markdownOf } from '../../load/report/markdown.js'
import { main } from '../../load/run/shell.js'
import { openSite } from '../../load/run/site.js'
import { runTrial } from '../../load/run/trial.js'
import { doctor } from '../../load/verbs/doctor.js'
import { sweep } from '../../load/verbs/sweep/sweep.js'
import { startHere } from './load.js'
import { createShell } from './shell.js'

/**
 * @import { Lab } from '../../load/run/runner.js'
 * @import { Action, Verb } from '../../load/run/experiment.js'
 */

/** A bench without pinning, which would move the test itself to another core. @type {Lab['openSite']} */
const openUnpinned = (plan, results, opening) => openSite(plan, results, opening, () => null)

/**
 * A trial whose generator is in this process, for tests in which neither its rate nor its process matters.
 * @type {Lab['runTrial']}
 */
export const trialHere = (setup, plan, signal, onCounts) => runTrial(setup, plan, signal, onCounts, startHere)

/**
 * Runs a verb of the lab in this process: with real load, but neither pinned nor with pages, which take longer than the
 * trials of a test.
 * @param {string[]} argv
 * @param {object} [options]
 * @param {Record<string, Verb | Action>} [options.verbs] those of load/ unless told otherwise
 * @param {Record<string, string | undefined>} [options.env] beside this process's own, without DATABASE_URL
 * @param {string} [options.dotenvFile]
 * @param {AbortSignal} [options.signal]
 * @param {Partial<Lab>} [options.lab] what stands in for the real one
 * @returns {Promise<{ code: number, stdout: string, stderr: string }>}
 */
export async function runHere(argv, { verbs = { sweep, doctor }, env = {}, lab = {}, ...given } = {}) {
  const shell = createShell({
    env: { ...process.env, DATABASE_URL: undefined, ...env },
    lab: {
      openSite: openUnpinned,
      spoilers: async () => [],
      writeReport: async (folder, title, blocks) =>
        folder.writeText('report.md', `# ${title}\n\n${markdownOf(blocks)}\n`),
      ...lab,
    },
    ...given,
  })
  const code = await main(verbs, argv, shell)
  return { code, ...shell.said }
}
