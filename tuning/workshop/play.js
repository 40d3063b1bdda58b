import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { table } from '../../load/report/blocks.js'
import { terminalOf } from '../../load/report/terminal.js'
import { EXERCISES } from './exercises/index.js'
import { forget, readProgress } from './progress.js'

/** `node tuning/workshop/play.js [NUMBER…]`: plays each exercise to its end, through the real program, with wrong and right answers. */

const FOLDER = 'results/workshop-played'
const CLI = fileURLToPath(new URL('../cli.js', import.meta.url))

/** Input that no question understands, and a hint. */
const CLUELESS = ['', 'banana', 'hint']

/** A valid answer to any question about the expected effect. */
const EXPECTED = '10'

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const numbers = process.argv.slice(2)
  const played = EXERCISES.filter(({ number }) => numbers.length === 0 || numbers.includes(String(number)))
  forget(FOLDER, played)
  const rows = played.map(rowOf)
  const results = table(['exercise', 'a wrong answer', 'the solution', 'rounds', 'took'], rows)
  process.stdout.write(`\n${terminalOf([results])}\n`)
}

/** Plays an exercise, and says how it went. @param {typeof EXERCISES[number]} exercise */
function rowOf({ number, title }) {
  const started_ms = performance.now()
  const { codes, transcript, state } = playThrough(number, { folder: FOLDER })
  process.stdout.write(transcript)
  const isSolved = state.stage === 'done' && codes.every((code) => code === 0)
  if (!isSolved) process.exitCode = 1
  const texts = state.outcomes.map(({ solved, because }) => `${solved ? 'solved' : 'not solved'}: ${because}`)
  const [wrong = 'not judged', ...others] = texts
  const took = `${((performance.now() - started_ms) / 1000).toFixed(0)} s`
  return [`${number}. ${title}`, wrong, others.at(-1) ?? 'not judged', String(state.round), took]
}

/**
 * Plays an exercise through the real program, twice: first with lines that are not understood, hints and wrong answers, leaving in the
 * middle, then with --solution.
 * @param {number} number @param {{ folder: string, env?: NodeJS.ProcessEnv, within?: string[] }} options within: a command that runs
 *   the program
 * @returns codes: the exit codes of both runs; transcript: their output
 */
export function playThrough(number, { folder, env = process.env, within = [] }) {
  const { id, predict, limits, turn, expect } = EXERCISES[number - 1]
  const guesses = [predict, limits, turn].flatMap((question) => (question ? [...CLUELESS, question.wrong] : []))
  const lines = [...guesses, ...(expect ? [EXPECTED] : []), 'quit']
  const command = [CLI, 'workshop', '--exercise', String(number), '--out', folder]
  const sessions = [command, [...command, '--solution']].map((args) => {
    const [program, ...rest] = [...within, process.execPath, ...args]
    return spawnSync(program, rest, { env, encoding: 'utf8', input: `${lines.join('\n')}\n` })
  })
  return {
    codes: sessions.map(({ status }) => status),
    transcript: sessions.map(({ status, stdout, stderr }) => (status === 0 ? stdout : stdout + stderr)).join(''),
    state: readProgress(folder).exercises[id],
  }
}
