import { isDeepStrictEqual } from 'node:util'
import { withDatabase } from '../command/environment.js'
import { UsageError } from '../command/errors.js'
import { terminalOf } from '../report/terminal.js'
import { describeMachine, redlineCommit } from '../system/machine.js'
import { quoted } from '../system/ssh/remote.js'
import { seekConsent } from './consent.js'
import { keptPlan, lacksCredentials, livePlan, secretWarnings } from './plan-secrets.js'
import { beginRun, resumeRun } from './results.js'
import { runExperiment } from './runner.js'

/**
 * @import { Flag } from '../command/flags.js'
 * @import { Block } from '../report/blocks.js'
 * @import { Target } from '../targets/index.js'
 * @import { Results } from './results.js'
 * @import { Place } from './site.js'
 * @import { Io } from './runner.js'
 * @import { Cell, NotAppliedCell, Run, Step, TrialRecord } from '../report/record.js'
 */

/**
 * A verb that measures: data and functions, all pure except `open`, `close` and `prepare`. The shell and the runner do
 * the rest: command line, credentials, running, resuming, interruption, the frame of the report, and the exit code.
 * @template [P=any] the plan
 * @template {Findings} [F=any] what `analyse` finds
 * @typedef {object} Experiment
 * @property {string} name as on the command line
 * @property {string} [script] name of the npm script, if it differs
 * @property {string} about the question that it answers, in one line
 * @property {string} [details] further lines of --help
 * @property {string} examples lines of --help
 * @property {Record<string, Flag>} flags the verb's own; the shell adds those common to all verbs
 * @property {(given: Record<string, any>, settings: NodeJS.ProcessEnv) => P} plan made of the parsed flags and the API's
 *   settings: plain data, kept in run.json
 * @property {(plan: P) => string} [size] the amount of work, in one line
 * @property {(plan: P, begun: { results: Results, run: any }, io: Io) => Promise<object | void>} [prepare] runs before the first
 *   trial; throws UsageError if this plan cannot run here; run.json keeps its result, which `analyse` finds in `run`
 * @property {(plan: P, records: TrialRecord[], notApplied: NotAppliedCell[]) => Step | null} design the next trial, or null when
 *   done; a resumed run calls it again
 * @property {(cell: Cell | null, place: Place, plan: P) => Promise<Target>} [open] opens the target of a cell, which stays open
 *   while the steps ask for the same cell; by default the local API or the plan's URL
 * @property {(place: Place, plan: P) => Promise<void>} [close] closes what `open` keeps for further cells
 * @property {(plan: P) => string} [pinning] describes which core runs what, if the default text does not fit
 * @property {(plan: P, records: TrialRecord[], run: any) => F} analyse called once, when no trial is left; returns plain data
 * @property {(findings: F) => Block[]} report the answer first, then what supports it
 * @property {(findings: F, run: Run) => Record<string, string>} [files] further files of the results folder, by name
 * @typedef {{ problem: string | null, kept?: Record<string, any>, not_counted?: TrialRecord[] } & Record<string, any>} Findings
 *   problem: why no trustworthy answer exists; kept: what run.json records of them, such as `capacity` and `limit`;
 *   not_counted: trials that do not count, since the core had another speed
 */

/**
 * A verb that measures in a loop of its own, without trials. `measure` yields its measurements row by row: plain data,
 * kept in run.json. When the signal aborts, it cleans up and throws.
 * @typedef {Omit<Experiment, 'design' | 'open' | 'close' | 'pinning' | 'analyse'> & {
 *   measure: (plan: any, io: Io) => AsyncIterable<any>, analyse: (plan: any, rows: any[], run: any) => Findings }} Measurement
 * @typedef {Experiment | Measurement} Verb
 */

/**
 * A verb that keeps no run of its own.
 * @typedef {Pick<Experiment, 'script' | 'about' | 'details' | 'examples' | 'flags'> & { operands?: string, experiment?: Experiment,
 *   run: (command: Command, io: Io) => Promise<Ended> }} Action operands: their name in --help; experiment: shows the results
 *   that the action keeps
 * @typedef {{ given: Record<string, any>, operands: string[], argv: string[], json?: boolean }} Command given: values of the flags;
 *   argv: without secrets; json: stdout is reserved for the answer as JSON
 * @typedef {{ run: any, text: string | null, folder: string | null }} Ended run: run.json; text: for the terminal, null if nothing was
 *   measured; folder: null if nothing was kept
 */

/**
 * Begins or resumes a run. To resume it, a database URL must be given again, since its password is not kept.
 * @param {Verb} verb @param {Command} command @param {Io} given_io @returns {Promise<Ended>} @throws {UsageError}
 */
export async function runVerb(verb, command, given_io) {
  const { resume, out, yes, 'database-url': databaseUrl, ...given } = command.given
  const { name, size, prepare } = verb
  const io = { ...given_io, environment: withDatabase(given_io.environment, databaseUrl) }
  const planOf = (/** @type {Record<string, any>} */ options) => verb.plan(options, io.environment.settings)
  if (resume && out !== undefined)
    throw new UsageError(`--out: cannot be combined with --resume, which goes on in ${resume}`)
  const before = resume && resumeRun(verb, resume)
  const kept = before ? resumedPlan(before.run, resume, given, 'seed' in verb.flags, planOf) : planOf(given)
  const plan = livePlan(kept)
  if (databaseUrl !== undefined && plan.url) {
    const why = given.url
      ? 'cannot be combined with --url, whose service has a database of its own'
      : `expected a run that loads our own API, got a ${name} that does not: configure the database of other services directly`
    throw new UsageError(`--database-url: ${why}`)
  }
  const { results, run } = before || beginRun(name, { argv: command.argv, out, plan: keptPlan(kept) })
  for (const text of secretWarnings(kept)) io.progress.note(`warning: ${text}`)
  const begin = async () => {
    const prepared = await prepare?.(plan, { results, run }, io)
    const firstStep = () =>
      'design' in verb ? verb.design(plan, before ? results.readTrials() : [], before?.run.not_applied ?? []) : null
    await seekConsent(plan, firstStep, { isAgreed: yes, ask: io.ask, note: io.progress.note })
    return prepared
  }
  const prepared = await begin().catch((error) => {
    results.releaseUnused()
    throw error
  })
  if (size) io.progress.note(size(plan))
  const resumed = before && { resumptions: (run.resumptions ?? 0) + 1 }
  const ended = await runExperiment({ experiment: verb, run: { ...run, ...resumed, ...prepared }, plan, results }, io)
  const isEmpty = ended.run.interrupted && ended.measured === 0
  return { run: ended.run, text: isEmpty ? null : terminalOf(ended.blocks), folder: results.folder }
}

/**
 * Runs a verb that keeps no run of its own. If it has no use of its own for --out, that folder receives its answer.
 * @param {string} name @param {Action} verb @param {Command} command @param {Io} io @returns {Promise<Ended>} @throws {UsageError}
 */
export async function runAction(name, verb, command, io) {
  const { out, ...given } = command.given
  if ('out' in verb.flags || out === undefined) return verb.run(command, io)
  const { results, run } = beginRun(name, { argv: command.argv, out, plan: given })
  const ended = await verb.run({ ...command, given }, io).catch((error) => {
    results.releaseUnused()
    throw error
  })
  const versions = { node: process.version, redline_commit: await redlineCommit() }
  const finished_at = new Date().toISOString()
  results.writeRun({ ...run, machine: describeMachine(), versions, rows: [], ...ended.run, finished_at })
  results.writeText('report.md', `\`\`\`text\n${ended.text}\n\`\`\`\n`)
  return { ...ended, folder: out }
}

/**
 * The plan of a resumed run. Flags given with --resume must match the run; they are needed only for secrets on its command line,
 * which are not kept.
 * @param {any} run @param {string} folder @param {Record<string, any>} given @param {boolean} hasSeed
 * @param {(given: Record<string, any>) => any} planOf
 */
function resumedPlan({ plan: kept, argv }, folder, given, hasSeed, planOf) {
  if (Object.keys(given).length === 0) {
    if (!lacksCredentials(kept)) return kept
    throw new UsageError(
      `--resume: expected the flags of the run in ${folder} again, since secrets on its command line were not kept`,
    )
  }
  const asked = planOf(hasSeed ? { seed: kept.mix.seed, ...given } : given)
  // What this machine allows may have changed since.
  const { connections_max = asked.connections_max } = kept
  const plan = asked.connections_max === undefined ? asked : { ...asked, connections_max }
  if (isDeepStrictEqual(keptPlan(plan), kept)) return plan
  throw new UsageError(`--resume: expected the flags of the run in ${folder} (${argv.map(quoted).join(' ')}) or none`)
}
