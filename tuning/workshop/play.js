import { fileURLToPath } from 'node:url'
import { UsageError } from '../../load/command/errors.js'
import { helpText, numberFlag, parseFlags } from '../../load/command/flags.js'
import { table } from '../../load/report/blocks.js'
import { terminalOf } from '../../load/report/terminal.js'
import { startChild } from '../../load/system/processes.js'
import { EXERCISES } from './exercises/index.js'
import { foundOf } from './player.js'
import { folderOf, readProgress } from './progress.js'

/**
 * @import { ChildProcessWithoutNullStreams } from 'node:child_process'
 * @import { Exercise } from './exercise.js'
 */

/** `node tuning/workshop/play.js`: every exercise to its end, through the real program, with answers wrong and right. */

const FLAGS = {
  out: { value: 'DIR', about: 'folder for progress and results (default results/workshop-played)' },
  only: numberFlag('this exercise alone', 1, EXERCISES.length),
  help: { value: '', about: 'this text' },
}

const CLI = fileURLToPath(new URL('../cli.js', import.meta.url))
const PROMPT = '\n> '
const LEAVE = 'quit'

/** Noise may break a right answer, but never makes a wrong one right. */
const MOST_TRIES = 3

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    process.exitCode = await main(parseFlags(FLAGS, process.argv.slice(2)))
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`redline: ${error.message}\n`)
    process.exitCode = 2
  }
}

/** @param {Record<string, any>} flags @returns {Promise<number>} exit code */
async function main({ out: folder = 'results/workshop-played', only, help }) {
  if (help) {
    const examples = '  node tuning/workshop/play.js --only 4'
    process.stdout.write(helpText('node tuning/workshop/play.js [flags]', FLAGS, examples))
    return 0
  }
  const rows = []
  let exitCode = 0
  for (const { number, title } of EXERCISES.filter((one) => only === undefined || only === one.number)) {
    const started_ms = performance.now()
    const { codes, transcript, state } = await playThrough(number, { folder })
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
 * Plays an exercise through the real program, line by line: input that is not understood, hints, a wrong answer where there
 * is one, leaving in the middle, and then the solution.
 *
 * @param {number} number
 * @param {{ folder: string, env?: NodeJS.ProcessEnv }} options
 * @returns codes: of the program's exits; transcript: its output, over all of them
 */
export async function playThrough(number, { folder, env = process.env }) {
  const exercise = EXERCISES[number - 1]
  const nextLine = script(exercise, folder)
  const sessions = []
  // The first session ends in the middle.
  do sessions.push(await playSession(number, folder, env, nextLine))
  while (sessions.at(-1)?.left)
  return {
    codes: sessions.map(({ code }) => code),
    transcript: sessions.map(({ text }) => text).join(''),
    state: readProgress(folder).exercises[exercise.id],
  }
}

/**
 * The program from its start to its exit.
 *
 * @param {number} number @param {string} folder @param {NodeJS.ProcessEnv} env
 * @param {() => string} nextLine typed at a prompt
 */
async function playSession(number, folder, env, nextLine) {
  const command = [process.execPath, CLI, 'workshop', '--exercise', String(number), '--out', folder]
  const started = startChild(command, { cores: null, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const child = /** @type {ChildProcessWithoutNullStreams} */ (started.child)
  let text = ''
  let left = false
  child.stdout.on('data', (chunk) => {
    text += chunk
    if (!text.endsWith(PROMPT)) return
    const line = nextLine()
    left = line === LEAVE
    child.stdin.write(`${line}\n`)
  })
  const errors = child.stderr.toArray()
  const code = await new Promise((/** @type {(code: number | null) => void} */ resolve) => child.once('close', resolve))
  if (code !== 0) text += Buffer.concat(await errors)
  return { code, text, left }
}

/** Lines to type, one at each prompt. @param {Exercise} exercise @param {string} folder @returns {() => string} */
function script(exercise, folder) {
  /** @type {Record<string, number>} */
  const asked = {}
  return () => {
    const state = readProgress(folder).exercises[exercise.id]
    const name = state.stage
    const question = exercise[/** @type {'predict' | 'turn' | 'expect'} */ (name)]
    if (!question) throw new Error(`expected a question at a prompt, got the stage ${name}`)
    const times = asked[name] ?? 0
    asked[name] = times + 1
    const found = foundOf({ state, folder: folderOf(folder, exercise.id) })
    const wrong = question.wrong?.(found)
    const first = ['', 'banana', 'hint']
    if (name === 'predict') return [...first, wrong][times] ?? question.solution(found)
    if (name === 'expect') return question.solution(found)
    const lines = [...first, LEAVE, ...(wrong === undefined ? [] : [wrong])]
    return times < lines.length + MOST_TRIES ? (lines[times] ?? question.solution(found)) : 'q'
  }
}
