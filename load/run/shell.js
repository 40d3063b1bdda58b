import { existsSync } from 'node:fs'
import { PostgresNotStarted } from '../../sql/binaries.js'
import { DatabaseError } from '../../sql/database.js'
import { removeLeftovers } from '../../sql/scratch.js'
import { abortOnSignals } from '../../sql/signals.js'
import { askAt } from '../command/ask.js'
import { keptUrl } from '../command/credentials.js'
import { readEnvironment } from '../command/environment.js'
import { NotReady, RemoteError, ServiceEnded, UsageError } from '../command/errors.js'
import { helpText, likelyName, parseCommand, seedFlag, switchFlag } from '../command/flags.js'
import { spoken } from '../command/spoken.js'
import { refuseSwallowed } from '../command/swallowed.js'
import { capitalised, printable } from '../report/format.js'
import { DATABASE_FLAG } from '../system/ssh/plan.js'
import { quoted } from '../system/ssh/remote.js'
import { runAction, runVerb } from './experiment.js'
import { lacksCredentials } from './plan-secrets.js'
import { createProgress } from './progress.js'
import { BROKE_OFF } from './runner.js'

/**
 * @import { Input } from '../command/ask.js'
 * @import { Flag } from '../command/flags.js'
 * @import { Action, Ended, Verb } from './experiment.js'
 * @import { Io, Lab } from './runner.js'
 */

const EXIT = { answered: 0, noAnswer: 1, usage: 2, interrupted: 130 }

/** After a second Ctrl-C. */
const ENDED_AT_ONCE = 'redline: ended at once; the trials that had ended are kept, and --resume goes on\n'

const OUT = { value: 'DIR', about: 'new or empty folder for the results (default results/<run_id>)' }
/** Every verb has these two, so that one script can call them all alike. */
const OF_ACTIONS = {
  out: { value: 'DIR', about: 'new or empty folder for the answer (default: none; it is only printed)' },
  seed: seedFlag('changes nothing here, where nothing is random'),
}
const RESUME = {
  ...{ value: 'DIR', about: 'continue an interrupted run', expected: 'a results folder' },
  parse: (/** @type {string} */ text) => text || undefined,
}
const COMMON = {
  json: switchFlag('print only the answer, as JSON, on stdout'),
  help: switchFlag('show this text'),
}

/**
 * Runs the verb that a command line names, by its own name or that of its npm script. A URL in its place is the target of a sweep.
 * @param {Record<string, Verb | Action>} verbs @param {string[]} command @param {Partial<Shell>} [shell]
 * @returns {Promise<number>} exit code
 * @typedef {{ stdin: Input, stdout: Output, stderr: Output, env: NodeJS.ProcessEnv, dotenvFile: string, signal: AbortSignal,
 *   tidy: () => Promise<void>, lab: Partial<Lab>, platform: NodeJS.Platform }} Shell a verb's environment, by default this process's;
 *   signal: interrupts the verb; by default, SIGINT, SIGTERM and SIGHUP do; tidy: removes what killed labs left behind
 * @typedef {{ write: (text: string) => unknown, isTTY?: boolean, rows?: number, columns?: number }} Output
 */
export async function main(verbs, command, shell = {}) {
  const { stdin = process.stdin, stdout = process.stdout, stderr = process.stderr } = shell
  for (const stream of [stdout, stderr]) outliveReader(stream)
  const { env, dotenvFile, tidy = removeLeftovers, lab, platform = process.platform } = shell
  if (platform === 'win32') {
    stderr.write('redline: expected Linux or macOS, got native Windows: use WSL (in PowerShell: wsl --install)\n')
    return EXIT.usage
  }
  const [word = '', ...words] = isUrl(command[0]) ? ['sweep', ...command] : command
  if (isHelp(word)) {
    stdout.write(
      `Redline: how many requests per second can a service sustain, and what limits it?\n\n${verbsText(verbs)}`,
    )
    return EXIT.answered
  }
  const name = Object.keys(verbs).find((own) => namesOf(own, verbs[own]).includes(word))
  if (name === undefined) {
    stderr.write(unknownText(word, verbs))
    return EXIT.usage
  }
  const verb = verbs[name]
  const flags = flagsOf(verb)
  const argv = 'url' in flags ? withTarget(words) : words
  if (argv.some(isHelp)) {
    stdout.write(helpOf(name, verb, flags))
    return EXIT.answered
  }
  const signal = shell.signal ?? abortOnSignals(EXIT.interrupted, ENDED_AT_ONCE)
  try {
    const environment = readEnvironment(env, dotenvFile)
    refuseSwallowed(verb.script ?? name, flags, argv, environment.forApi)
    await tidy()
    const ask = askAt(stdin, stderr, signal)
    const io = { signal, progress: createProgress(stderr, environment.settings), environment, ask, lab }
    const { given, operands, shown } = parseCommand(flags, argv, 'operands' in verb)
    const { json, ...own } = given
    const command = { given: own, operands, argv: shown, json }
    const ended = await ('run' in verb ? runAction(name, verb, command, io) : runVerb(verb, command, io))
    return print(ended, json, 'resume' in flags, stdout, stderr)
  } catch (error) {
    if (signal.aborted) return EXIT.interrupted
    const isUsers = error instanceof UsageError || error instanceof DatabaseError
    const { message, stack, code } = /** @type {NodeJS.ErrnoException} */ (error)
    // The message is enough if the system (a full disk, a missing folder), another host or the API failed; only our own bugs
    // need a stack trace.
    const isOthers = OF_OTHERS.some((kind) => error instanceof kind) || /^E[A-Z]+$/.test(String(code))
    stderr.write(`redline: ${printable(isUsers || isOthers ? spoken(message) : String(stack))}\n`)
    return isUsers ? EXIT.usage : EXIT.noAnswer
  }
}

/** Failures of another host, or of a server. */
const OF_OTHERS = [RemoteError, ServiceEnded, NotReady, PostgresNotStarted]

/**
 * Goes on, without output, when nobody reads it any more, or its disk is full: otherwise that would end the process before it has
 * cleaned up and written its report.
 * @param {Output | NodeJS.WriteStream} stream
 */
function outliveReader(stream) {
  if ('listeners' in stream && !stream.listeners('error').includes(goOnUnread)) stream.on('error', goOnUnread)
}

/** A closed pipe, or a lost terminal. */
const UNREAD = ['EPIPE', 'EIO', 'ERR_STREAM_DESTROYED']

/** Reported only once, since the report itself may fail, too. */
let isReported = false

/** @param {NodeJS.ErrnoException} error */
function goOnUnread({ code, message }) {
  if (UNREAD.includes(String(code)) || isReported) return
  isReported = true
  process.once('exit', () => {
    process.exitCode ||= EXIT.noAnswer
  })
  process.stderr.write(`redline: the output could not be written: ${message}\n`)
}

/** @param {string} [word] */
function isUrl(word = '') {
  return /^https?:/i.test(word)
}

/** Turns a leading URL into flags. Unless they say otherwise, it is loaded by GET, which changes nothing there. @param {string[]} words behind a verb */
function withTarget(words) {
  if (!isUrl(words[0])) return words
  const isTold = words.some((word) => /^--(method|body|mix|replay)(=|$)/.test(word))
  return ['--url', ...words, ...(isTold ? [] : ['--method', 'GET'])]
}

/** @param {string} name @param {Verb | Action} verb */
function namesOf(name, { script = name }) {
  return [name, script]
}

/** One line with the likely correction, or the verbs if there is none. @param {string} word instead of a verb @param {Record<string, Verb | Action>} verbs */
function unknownText(word, verbs) {
  const names = Object.entries(verbs).flatMap(([name, verb]) => namesOf(name, verb))
  const likely = likelyName(word, names)
  const ofUrl = /[./]|:\d/.test(word) ? 'a URL begins with http:// or https://' : null
  const hint = likely ? `did you mean ${likely}?` : ofUrl
  const found = printable(keptUrl(word)) || 'none'
  if (hint) return `redline: expected a verb, got ${found} (${hint})\n`
  return `redline: expected one of these verbs, got ${found}\n${verbsText(verbs)}`
}

/** @param {string} word */
function isHelp(word) {
  return word === '--help' || word === '-h'
}

/** A line for each verb. @param {Record<string, Verb | Action>} verbs */
function verbsText(verbs) {
  const known = Object.entries(verbs).map(([own, verb]) => [spoken(`  npm run ${verb.script ?? own}`), verb.about])
  const width = Math.max(0, ...known.map(([command]) => command.length))
  return known.map(([command, about]) => `${command.padEnd(width)}   ${about}\n`).join('')
}

/** A verb's own flags, and those common to all verbs of its kind. @param {Verb | Action} verb @returns {Record<string, Flag>} */
function flagsOf(verb) {
  if ('run' in verb) return { ...verb.flags, ...OF_ACTIONS, ...COMMON, ...verb.flags }
  if ('measure' in verb) return { ...verb.flags, out: OUT, ...COMMON }
  return { ...verb.flags, ...DATABASE_FLAG, out: OUT, resume: RESUME, ...COMMON }
}

/** @param {string} name @param {Verb | Action} verb @param {Record<string, Flag>} flags */
function helpOf(name, { script = name, about, details, examples, ...verb }, flags) {
  const operands = 'operands' in verb ? `${verb.operands} [flags]` : 'url' in flags ? '[URL] [flags]' : '[flags]'
  const text = `${capitalised(about)}${details ? `\n\n${details}` : ''}`
  return spoken(helpText(`npm run ${script} -- ${operands}\n\n${text}`, flags, examples))
}

/** @param {Ended} ended @param {boolean} json @param {boolean} isResumable @param {Output} stdout @param {Output} stderr */
function print({ run, text, folder }, json, isResumable, stdout, stderr) {
  if (json) stdout.write(`${JSON.stringify(folder === null ? run : { ...run, folder }, null, 2)}\n`)
  else if (text !== null) {
    const written = ['report.md', 'report.html'].map((name) => `${folder}/${name}`).filter(existsSync)
    stdout.write(`\n${text}\n${written.length > 0 ? `\n${written.join('\n')}\n` : ''}`)
  }
  const kept = isResumable ? goOnText(run, String(folder)) : `what it measured is in ${folder ?? run.folder}`
  const rest = printable(spoken(kept))
  if (run.interrupted) {
    stderr.write(`interrupted; ${rest}\n`)
    return EXIT.interrupted
  }
  const then = run.problem?.startsWith(BROKE_OFF) ? `; ${rest}` : ''
  if (run.problem) stderr.write(`redline: no trustworthy answer: ${printable(run.problem)}${then}\n`)
  return run.problem ? run.exit_code || EXIT.noAnswer : (run.exit_code ?? EXIT.answered)
}

/** How to go on with a run that is not over. @param {any} run @param {string} folder */
function goOnText({ verb, database, plan }, folder) {
  const url = database?.kind === 'given' ? ' --database-url URL' : ''
  const flags = lacksCredentials(plan) ? ' and the flags of this run' : ''
  return `go on with: npm run ${verb} -- --resume ${quoted(folder)}${url}${flags}`
}
