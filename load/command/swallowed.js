import { UsageError } from './errors.js'

/** @import { Flag } from './flags.js' */

/** Options of npm itself: their variables may come from a user's npm settings. */
const OF_NPM = ['json', 'yes', 'only']

/**
 * Refuses a command line that npm has shortened. Without `--`, `npm run` takes flags for itself and leaves them in variables such as
 * npm_config_url, so the verb would measure something else than what was typed.
 * @param {string} script name in package.json @param {Record<string, Flag>} flags that the verb knows @param {string[]} argv
 * @param {NodeJS.ProcessEnv} env @throws {UsageError}
 */
export function refuseSwallowed(script, flags, argv, env) {
  if (env.npm_lifecycle_event !== script) return
  const isGiven = (/** @type {string} */ name) => argv.some((word) => word.split('=')[0] === `--${name}`)
  const taken = Object.keys(flags).find((name) => {
    // --slo-p99 is kept in npm_config_slo_p99, and --no-proof as an empty npm_config_proof.
    const variable = `npm_config_${name.replace(/^no-/, '').replaceAll('-', '_')}`
    return !OF_NPM.includes(name) && env[variable] !== undefined && !isGiven(name)
  })
  if (taken) throw new UsageError(`npm took --${taken} for itself: write npm run ${script} -- --${taken} …`)
}
