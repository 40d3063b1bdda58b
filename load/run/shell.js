import { DatabaseError } from '../../sql/database.js'
import { removeLeftovers } from '../../sql/scratch.js'
import { readEnvironment } from '../command/environment.js'
import { RemoteError, ServiceEnded, UsageError } from '../command/errors.js'
import { helpText } from '../command/flags.js'
import { terminalOf } from '../report/terminal.js'
import { RUN_FLAGS, runTrials } from './experiment.js'
import { MEASUREMENT_FLAGS, runMeasurement } from './measurement.js'
import { createProgress } from './progress.js'

/**
 * @import { Block } from '../report/blocks.js'
 * @import { Experiment } from './experiment.js'
 * @import { Measurement } from './measurement.js'
 * @import { Io, Lab } from './runner.js'
 * @import { TrialRecord } from '../report/record.js'
 */

/**
 * What a command line can name: an experiment, or something that measures nothing itself.
 *
 * @typedef {{ about: string, help: string, run: (argv: string[], io: Io) => Promise<Ended>, experiment?: Experiment }} Verb
 *   experiment: by which the results that it keeps are shown
 * @typedef {Experiment | Measurement | Verb} AnyVerb
 * @typedef {{ run: any, records: TrialRecord[], text?: string, blocks?: Block[], folder: string | null, json: boolean,
 *   isResumable?: boolean }} Ended run: run.json; text: for the terminal; blocks: the same, where it is a report; folder: null:
 *   nothing was kept; isResumable: whether an interrupted run can be continued (default true)
 */

const EXIT = { answered: 0, noAnswer: 1, usage: 2, interrupted: 130 }

/**
 * Runs the verb that a command line names.
 *
 * @param {Record<string, AnyVerb>} verbs @param {string[]} argv @param {Partial<Shell>} [shell]
 * @returns {Promise<number>} exit code
 *
 * @typedef {{ stdout: Output, stderr: Output, env: NodeJS.ProcessEnv, dotenvFile: string, signal: AbortSignal,
 *   tidy: () => Promise<void>, lab: Partial<Lab> }} Shell surroundings of a verb: those of this process unless told otherwise;
 *   signal: interrupts the verb; by default, SIGINT, SIGTERM and SIGHUP do; tidy: removes what labs that were killed left behind
 * @typedef {{ write: (text: string) => unknown, isTTY?: boolean, rows?: number, columns?: number }} Output
 */
export async function main(verbs, [name = '', ...argv], shell = {}) {
  const { stdout = process.stdout, stderr = process.stderr, env, dotenvFile, tidy = removeLeftovers, lab } = shell
  if (!Object.hasOwn(verbs, name)) {
    const known = Object.entries(verbs).map(([own, verb]) => `  npm run ${scriptOf(own, verb)}   ${verb.about}\n`)
    stderr.write(`redline: expected one of these verbs, got ${name || 'none'}\n${known.join('')}`)
    return EXIT.usage
  }
  const named = verbs[name]
  const verb = 'run' in named ? named : verbOf(named)
  if (argv.includes('--help') || argv.includes('-h')) {
    stdout.write(verb.help)
    return EXIT.answered
  }
  const signal = shell.signal ?? abortOnSignals()
  try {
    const environment = readEnvironment(env, dotenvFile)
    await tidy()
    const io = { signal, progress: createProgress(stderr, environment.settings), environment, lab }
    return print(await verb.run(argv, io), stdout, stderr)
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted
    const isUsers = error instanceof UsageError || error instanceof DatabaseError
    const { message, stack, code } = /** @type {NodeJS.ErrnoException} */ (error)
    // Failures of the system (a full disk, a missing folder), of another host and of the API are reported by their message alone;
    // a stack is for our own mistakes.
    const isOthers = error instanceof RemoteError || error instanceof ServiceEnded || /^E[A-Z]+$/.test(String(code))
    stderr.write(`redline: ${isUsers || isOthers ? message : stack}\n`)
    return isUsers ? EXIT.usage : EXIT.noAnswer
  }
}

/** The command line of what measures. @param {Experiment | Measurement} experiment @returns {Verb} */
function verbOf(experiment) {
  const { name, about, details, examples } = experiment
  const title = `${about[0].toUpperCase()}${about.slice(1)}${details ? `\n\n${details}` : ''}`
  const flags = { ...experiment.flags, ...('measure' in experiment ? MEASUREMENT_FLAGS : RUN_FLAGS) }
  return {
    about,
    help: helpText(`npm run ${scriptOf(name, experiment)} -- [flags]\n\n${title}`, flags, examples),
    run: (argv, io) =>
      'measure' in experiment ? runMeasurement(experiment, flags, argv, io) : runTrials(experiment, flags, argv, io),
  }
}

/** The npm script of a verb. @param {string} name @param {AnyVerb} verb */
function scriptOf(name, verb) {
  return ('measure' in verb && verb.script) || name
}

/** @param {Ended} ended @param {Output} stdout @param {Output} stderr */
function print({ run, records, text, blocks, folder, json, isResumable = true }, stdout, stderr) {
  const shown = blocks ? terminalOf(blocks) : text
  if (json) stdout.write(`${JSON.stringify(folder === null ? run : { ...run, folder }, null, 2)}\n`)
  else if (folder === null) stdout.write(`\n${shown}\n`)
  else if (records.length > 0 || !run.interrupted || !isResumable)
    stdout.write(`\n${shown}\n\n${folder}/report.md\n${folder}/report.html\n`)
  if (run.interrupted) {
    const rest = isResumable
      ? `go on with: npm run ${run.verb} -- --resume ${folder}`
      : `what it measured is in ${folder}`
    stderr.write(`interrupted; ${rest}\n`)
    return EXIT.interrupted
  }
  if (run.problem) stderr.write(`redline: no trustworthy answer: ${run.problem}\n`)
  return run.problem ? EXIT.noAnswer : EXIT.answered
}

/** The first signal stops the load and lets the run clean up; the second ends it at once, its children with it. */
function abortOnSignals() {
  const controller = new AbortController()
  for (const name of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(name, () => {
      if (controller.signal.aborted) process.exit(EXIT.interrupted)
      controller.abort(new Error(name))
    })
  }
  return controller.signal
}
