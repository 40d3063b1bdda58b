import { fileURLToPath } from 'node:url'
import { startChild } from '../../load/system/processes.js'
import { EXERCISES } from './exercises/index.js'
import { foundOf } from './player.js'
import { folderOf, readProgress } from './progress.js'

/**
 * @import { Exercise } from './exercise.js'
 * @import { State } from './progress.js'
 * @import { ChildProcessWithoutNullStreams } from 'node:child_process'
 */

const CLI = fileURLToPath(new URL('../cli.js', import.meta.url))
const PROMPT = '\n> '

/** Noise may break an answer that is right; one that is wrong stays so. */
const MOST_TRIES = 3

/**
 * Plays an exercise through the real program, line by line: what is not understood, hints, a wrong answer where there is
 * one, leaving in the middle, and then what solves it.
 *
 * @param {number} number
 * @param {{ folder: string, env?: NodeJS.ProcessEnv, tellsWrong?: boolean }} options tellsWrong: a knob is turned wrongly first
 * @returns {Promise<Played>}
 *
 * @typedef {object} Played
 * @property {(number | null)[]} codes of the program's ends
 * @property {string} transcript what it said, over all of them
 * @property {State} state
 * @property {number} took_s
 */
export async function playThrough(number, { folder, env = process.env, tellsWrong = true }) {
  const exercise = EXERCISES[number - 1]
  const started_ms = performance.now()
  const script = linesOf(exercise, folder, tellsWrong)
  const codes = []
  let transcript = ''
  // Until there is nothing left to say: the first end is the one in the middle.
  for (let leaves = true; leaves; ) {
    const { code, text, left } = await session(number, folder, env, script)
    codes.push(code)
    transcript += text
    leaves = left
  }
  const state = readProgress(folder).exercises[exercise.id]
  return { codes, transcript, state, took_s: (performance.now() - started_ms) / 1000 }
}

/**
 * One start of the program, to its end.
 *
 * @param {number} number
 * @param {string} folder
 * @param {NodeJS.ProcessEnv} env
 * @param {() => string} nextLine what is said at a prompt
 */
async function session(number, folder, env, nextLine) {
  const command = [process.execPath, CLI, 'workshop', '--exercise', String(number), '--out', folder]
  const started = startChild(command, { cores: null, env, stdio: ['pipe', 'pipe', 'pipe'] })
  const child = /** @type {ChildProcessWithoutNullStreams} */ (started.child)
  let text = ''
  let heard = 0
  let left = false
  child.stdout.on('data', (chunk) => {
    text += chunk
    if (!text.endsWith(PROMPT) || text.length === heard) return
    heard = text.length
    const line = nextLine()
    left = line === LEAVE
    child.stdin.write(`${line}\n`)
  })
  const errors = child.stderr.toArray()
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) text += Buffer.concat(await errors)
  return { code, text, left }
}

const LEAVE = 'quit'

/** @param {Exercise} exercise @param {string} folder @param {boolean} tellsWrong */
function linesOf(exercise, folder, tellsWrong) {
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
    const lines = [...first, LEAVE, ...(tellsWrong && wrong !== undefined ? [wrong] : [])]
    return times < lines.length + MOST_TRIES ? (lines[times] ?? question.solution(found)) : 'q'
  }
}
