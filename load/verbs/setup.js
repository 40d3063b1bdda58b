import { spawnSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { platformPackage } from '../../sql/binaries.js'

/** @import { Action } from '../run/experiment.js' */

const BUILD_VEGETA = fileURLToPath(new URL('../generators/drivers/vegeta/build.js', import.meta.url))

/** Fetches everything that would otherwise be fetched on first use. @type {Action} */
export const setup = {
  about: 'fetch everything that a run may need, so that Redline works offline afterwards',
  flags: {},
  examples: '  npm run setup                     up to two minutes, once',

  async run({ argv }, { progress, signal }) {
    const postgres = await platformPackage()
    const hasGo = spawnSync('go', ['version']).status === 0
    const building = hasGo && spawnSync(process.execPath, [BUILD_VEGETA], { stdio: ['ignore', 'ignore', 'inherit'] })
    // A signal that ended the build reaches this process only now.
    await setTimeout(1)
    signal.throwIfAborted()
    const isBuilt = building && building.status === 0
    if (!isBuilt)
      progress.note(
        'vegeta was not built: it needs Go 1.22 or newer and, once, the network. wrk and locust are taken from PATH; the other drivers are ready',
      )
    const run = { verb: 'setup', argv, postgres, vegeta: isBuilt, problem: null }
    return { run, text: `Postgres is in ${postgres}.`, folder: null }
  },
}
