import { withoutCredentials } from './credentials.js'
import { parseFlags, UsageError } from './flags.js'
import { beginRun, resumeRun } from './results.js'

/** What every verb takes that keeps what it measures. @satisfies {Record<string, import('./flags.js').Flag>} */
export const RUN_FLAGS = {
  out: { value: 'DIR', about: 'folder for the results (default results/<run_id>)' },
  resume: { value: 'DIR', about: 'go on with a run that was cut off' },
  json: { value: '', about: "the run's answer as JSON on stdout, and nothing else there" },
  help: { value: '', about: 'this text' },
}

/**
 * The run that a command line asks for: a new one, or one that was cut off, which takes no flags but its own. The URL of a
 * database is told each time, since its password is not kept.
 *
 * @template P
 * @param {string} verb
 * @param {Record<string, import('./flags.js').Flag>} flags of the verb, RUN_FLAGS among them
 * @param {string[]} argv
 * @param {(given: Record<string, any>) => P} planOf
 * @returns {{ results: import('./results.js').Results, run: any, plan: P, json: boolean, databaseUrl: string | undefined }}
 * @throws {UsageError}
 */
export function openRun(verb, flags, argv, planOf) {
  const { resume, json, out, help, 'database-url': databaseUrl, ...given } = parseFlags(flags, argv)
  if (resume && Object.keys(given).length > 0) {
    throw new UsageError(`--resume: expected no flags beside it, got --${Object.keys(given)[0]}`)
  }
  const { results, run } = resume
    ? resumeRun(verb, resume)
    : beginRun(verb, { argv: argv.map(withoutCredentials), out, plan: planOf(given) })
  return { results, run, plan: run.plan, json: json === true, databaseUrl }
}
