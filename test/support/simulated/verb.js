import fs from 'node:fs'
import path from 'node:path'
import { main } from '../../../load/verb.js'
import { createShell } from '../shell.js'
import { createLab } from './lab.js'

/**
 * Runs a verb to its end in a simulated lab, as its command line would.
 *
 * @param {import('../../../load/verb.js').Verb} verb
 * @param {string[]} argv
 * @param {import('./service.js').Serve} serve
 * @param {object} [options]
 * @param {Parameters<typeof createLab>[1]} [options.lab] what happens beside
 * @param {boolean} [options.draws] the report's pages as well, which takes some tenths of a second
 * @param {number} [options.interruptAfter] trials: Ctrl-C while the next one is on
 * @param {NodeJS.ProcessEnv} [options.env]
 */
export async function simulate(verb, argv, serve, { lab: beside = {}, draws = false, interruptAfter, env } = {}) {
  const controller = new AbortController()
  const lab = createLab(serve, {
    ...beside,
    onTrial: (trial, started) => {
      if (started - 1 === interruptAfter) controller.abort(new Error('SIGINT'))
      return beside.onTrial?.(trial, started)
    },
  })
  const { writePages, ...undrawn } = lab
  const shell = createShell({
    signal: controller.signal,
    lab: draws ? undrawn : { ...undrawn, writePages },
    ...(env && { env }),
  })
  const code = await main({ verb }, ['verb', ...argv], shell)
  const at = argv.findIndex((word) => word === '--out' || word === '--resume')
  const folder = argv[at + 1]
  return { code, ...shell.said, log: lab.log, ...(at >= 0 && kept(folder)) }
}

/** @param {string} folder @returns {{ run: any, records: any[] }} */
function kept(folder) {
  const read = (/** @type {string} */ name) => {
    const file = path.join(folder, name)
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8') : ''
  }
  const lines = read('trials.ndjson').split('\n').filter(Boolean)
  return { run: JSON.parse(read('run.json') || 'null'), records: lines.map((line) => JSON.parse(line)) }
}
