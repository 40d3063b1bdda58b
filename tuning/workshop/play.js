import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../load/command/errors.js'
import { helpText, numberFlag, parseFlags } from '../../load/command/flags.js'
import { table } from '../../load/report/blocks.js'
import { terminalOf } from '../../load/report/terminal.js'
import { EXERCISES } from './exercises/index.js'
import { readProgress } from './progress.js'

/** `node tuning/workshop/play.js`: every exercise to its end, through the real program, with wrong and right answers. */

const FLAGS = {
  out: { value: 'DIR', about: 'folder for progress and results (default results/workshop-played)' },
  only: numberFlag('this exercise alone', 1, EXERCISES.length),
  help: { value: '', about: 'this text' },
}

const CLI = fileURLToPath(new URL('../cli.js', import.meta.url))

/** Input that no question understands, and a hint. */
const CLUELESS = ['', 'banana', 'hint']

/** A valid answer to any question about the expected effect. */
const EXPECTED = '10'

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = main(parseFlags(FLAGS, process.argv.slice(2)))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`redline: ${error.message}\n`)
    process.exitCode = 2
  }
}

/** @param {Record<string, any>} flags @returns {number} exit code */
function main({ out: folder = 'results/workshop-played', only, help }) {
  if (help) {
    const examples = '  node tuning/workshop/play.js --only 4'
    process.stdout.write(helpText('node tuning/workshop/play.js [flags]', FLAGS, examples))
    return 0
  }
  const rows = []
  let exitCode = 0
  for (const { number, title } of EXERCISES.filter((one) => only === undefined || only === one.number)) {
    const started_ms = performance.now()
    const { codes, transcript, state } = playThrough(number, { folder })
    process.stdout.write(transcript)
    const isSolved = state.stage === 'done' && codes.every((code) => code === 0)
    if (!isSolved) exitCode = 1
    const [wrong, ...others] = state.outcomes
    rows.push([
      `${number}. ${title}`,
      wrong ? `${wrong.solved ? 'solved!' : 'not solved'}: ${wrong.because}` : 'not judged',
      `${isSolved ? 'solved' : 'not solved'} (${others.length} judged): ${others.at(-1)?.because ?? 'nothing'}`,
      String(state.round),
      `${((performance.now() - started_ms) / 1000).toFixed(0)} s`,
    ])
  }
  const results = table(['exercise', 'a wrong answer', 'the solution', 'rounds', 'took'], rows)
  process.stdout.write(`\n${terminalOf([results])}\n`)
  return exitCode
}

/**
 * Plays an exercise through the real program, twice: first with lines that are not understood, hints and wrong answers, leaving in the
 * middle, then with --solution.
 *
 * @param {number} number
 * @param {{ folder: string, env?: NodeJS.ProcessEnv }} options
 * @returns codes: of the program's exits; transcript: its output, over both
 */
export function playThrough(number, { folder, env = process.env }) {
  const { id, predict, turn, expect } = EXERCISES[number - 1]
  const lines = [...CLUELESS, predict.wrong, ...CLUELESS, turn.wrong, ...(expect ? [EXPECTED] : []), 'quit']
  const command = [CLI, 'workshop', '--exercise', String(number), '--out', folder]
  const sessions = [command, [...command, '--solution']].map((args) => {
    return spawnSync(process.execPath, args, { env, encoding: 'utf8', input: `${lines.join('\n')}\n` })
  })
  return {
    codes: sessions.map(({ status }) => status),
    transcript: sessions.map(({ status, stdout, stderr }) => (status === 0 ? stdout : stdout + stderr)).join(''),
    state: readProgress(folder).exercises[id],
  }
}
