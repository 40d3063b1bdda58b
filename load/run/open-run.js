import { isDeepStrictEqual } from 'node:util'
import { keptPlan, lacksCredentials } from '../command/credentials.js'
import { UsageError } from '../command/errors.js'
import { parseFlags, shownArguments } from '../command/flags.js'
import { DATABASE_FLAG } from '../system/ssh/plan.js'
import { livePlan, secretWarnings } from './live-plan.js'
import { beginRun, resumeRun } from './results.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { Results } from './results.js'
 * @import { MixPlan } from '../report/record.js'
 */

/** What every verb takes that keeps what it measures. @satisfies {Record<string, Flag>} */
export const RUN_FLAGS = {
  ...DATABASE_FLAG,
  out: { value: 'DIR', about: 'new or empty folder for the results (default results/<run_id>)' },
  resume: { value: 'DIR', about: 'go on with a run that was cut off' },
  json: { value: '', about: "the run's answer as JSON on stdout, and nothing else there" },
  help: { value: '', about: 'this text' },
}

/**
 * The run that a command line asks for: a new one, or one that was cut off. Flags given with --resume must match the
 * original run; they are needed only for secrets on the command line, which are not kept. The database URL must be given
 * again, since its password is not kept.
 *
 * @template {{ mix: MixPlan }} P
 * @param {string} verb
 * @param {Record<string, Flag>} flags of the verb, RUN_FLAGS among them
 * @param {string[]} argv
 * @param {(given: Record<string, any>) => P} planOf
 * @param {(plan: P) => void} [check] throws where the plan cannot be run here
 * @returns {OpenRun<P>}
 * @throws {UsageError}
 */
export function openRun(verb, flags, argv, planOf, check = () => {}) {
  const { resume, json, out, help, 'database-url': databaseUrl, ...given } = parseFlags(flags, argv)
  const told = { json: json === true, databaseUrl }
  if (resume) return { ...reopen(verb, flags, resume, given, { planOf, check }), ...told }
  const plan = planOf(given)
  const live = livePlan(plan)
  check(live)
  const begun = beginRun(verb, { argv: shownArguments(flags, argv), out, plan: keptPlan(plan) })
  return { ...begun, plan: live, ...told, warnings: secretWarnings(plan) }
}

/**
 * @template P
 * @typedef {object} OpenRun
 * @property {Results} results
 * @property {any} run run.json so far
 * @property {P} plan with its secrets in place: it must not be written down
 * @property {boolean} json
 * @property {string | undefined} databaseUrl
 * @property {string[]} warnings about how secrets are kept
 */

/**
 * @template {{ mix: MixPlan }} P
 * @param {string} verb
 * @param {Record<string, Flag>} flags
 * @param {string} folder
 * @param {Record<string, any>} given beside --resume
 * @param {{ planOf: (given: Record<string, any>) => P, check: (plan: P) => void }} options
 */
function reopen(verb, flags, folder, given, { planOf, check }) {
  const { results, run } = resumeRun(verb, folder)
  const isRepeated = Object.keys(given).length > 0
  const plan = isRepeated ? planOf(flags.seed ? { seed: run.plan.mix.seed, ...given } : given) : run.plan
  if (isRepeated && !isDeepStrictEqual(keptPlan(plan), run.plan)) {
    throw new UsageError(`--resume: expected the flags of the run in ${folder} (${run.argv.join(' ')}) or none`)
  }
  if (!isRepeated && lacksCredentials(run.plan)) {
    throw new UsageError(
      `--resume: expected the flags of the run in ${folder} again, since secrets on its command line were not kept`,
    )
  }
  const live = livePlan(plan)
  check(live)
  return { results, run, plan: live, warnings: secretWarnings(plan) }
}
