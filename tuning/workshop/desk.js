import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import os from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { styleText } from 'node:util'
import { binary as vegetaBinary } from '../../load/generators/drivers/vegeta/program.js'
import { paragraph } from '../../load/report/blocks.js'
import { TERMINAL_COLUMNS, terminalOf } from '../../load/report/terminal.js'
import { planCores } from '../../load/system/machine.js'
import { attempt } from '../../sql/attempt.js'
import { forgetRun, keepState, newState } from './progress.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { Exercise, Found, Question } from './exercise.js'
 * @import { Progress } from './progress.js'
 */

/**
 * The desk at which an exercise is played: its state, its results folder, the output for the student, and the source of the answers (the
 * student or the solutions).
 * @typedef {ReturnType<typeof openDesk>} Desk
 * @param {Exercise} exercise @param {Progress} progress
 * @param {{ out: string, seed: number, solution?: boolean, json?: boolean }} flags @param {Io} io
 */
export function openDesk(exercise, progress, { out, seed, solution, json }, io) {
  const state = progress.exercises[exercise.id] ?? newState(factsOfMachine())
  if (!progress.exercises[exercise.id]) forgetRun(out, exercise.name)
  const output = json ? process.stderr : process.stdout
  const columns = Math.min(output.columns || TERMINAL_COLUMNS, TERMINAL_COLUMNS)
  const say = (/** @type {string | Block[]} */ what) => {
    const blocks = typeof what === 'string' ? [paragraph(what)] : what
    output.write(`${terminalOf(blocks, columns)}\n\n`)
  }
  return {
    exercise,
    state,
    save: () => keepState(out, exercise.id, state),
    folder: path.join(out, exercise.name),
    seed,
    io,
    say,
    head: (/** @type {string} */ text) => say(styleText('bold', text, { stream: output })),
    by: /** @type {'student' | 'solution'} */ (solution ? 'solution' : 'student'),
    ...(solution ? createSolver(say) : createKeyboard(process.stdin, output, io.signal)),
  }
}

/** Abilities of this machine, as far as an exercise depends on them. */
export function factsOfMachine() {
  return {
    /** The service has a core to itself. */
    pinned: planCores() !== null,
    cores: os.availableParallelism(),
    /** A process can be given a limit of open files. */
    limits: process.platform === 'linux' && spawnSync('prlimit', ['--version']).status === 0,
    vegeta: attempt(vegetaBinary, null) !== null,
  }
}

/** A question is asked again if its solution did not hold; more attempts than these would not differ. */
const MOST_SOLUTIONS = 3

/** Answers with the solutions. @param {(text: string) => void} say */
function createSolver(say) {
  const asked = new Map()
  return {
    /** @param {Question} question @param {Found} found @returns {Promise<string | null>} null if there will be no more */
    async line(question, found) {
      const times = asked.get(question) ?? 0
      asked.set(question, times + 1)
      if (times === MOST_SOLUTIONS) return null
      const answer = question.solution(found)
      say(`The solution answers: ${answer}`)
      return answer
    },

    close() {},
  }
}

/**
 * Reads lines from a terminal or a pipe.
 * @param {NodeJS.ReadStream} input @param {NodeJS.WriteStream} output shows the prompt @param {AbortSignal} signal
 */
export function createKeyboard(input, output, signal) {
  // Avoid raw mode: the terminal itself edits the line, and Ctrl-C stays a signal during a measurement.
  const reader = createInterface({ input, terminal: false, signal })
  const closed = once(reader, 'close')
  /** @type {string[]} */
  const lines = []
  reader.on('line', (line) => lines.push(line))
  return {
    /** @returns {Promise<string | null>} null if there will be no more @throws the signal's reason */
    async line() {
      // Lines typed during a measurement answer no question; a script cannot wait for the prompt.
      if (input.isTTY) lines.length = 0
      output.write('> ')
      if (lines.length === 0) await Promise.race([once(reader, 'line'), closed])
      signal.throwIfAborted()
      const line = lines.shift()
      // A terminal shows what is typed; a pipe does not.
      if (!input.isTTY) output.write(line === undefined ? '\n' : `${line}\n`)
      return line === undefined ? null : line.trim()
    },

    close() {
      reader.close()
      input.destroy()
    },
  }
}
