import path from 'node:path'
import { styleText } from 'node:util'
import { paragraph } from '../../load/report/blocks.js'
import { TERMINAL_COLUMNS, terminalOf } from '../../load/report/terminal.js'
import { factsOfMachine } from './facts.js'
import { createKeyboard } from './keyboard.js'
import { newState, writeProgress } from './progress.js'

/**
 * @import { Block } from '../../load/report/blocks.js'
 * @import { Io } from '../../load/run/runner.js'
 * @import { Exercise, Found, Question } from './exercise.js'
 * @import { Progress } from './progress.js'
 */

/**
 * Where an exercise is played: its state, its folder of results, what the student sees, and who answers: the student, or the
 * solutions.
 *
 * @typedef {ReturnType<typeof openDesk>} Desk
 *
 * @param {Exercise} exercise @param {Progress} progress
 * @param {{ out: string, seed: number, solution?: boolean, json?: boolean }} flags @param {Io} io
 */
export function openDesk(exercise, progress, { out, seed, solution, json }, io) {
  progress.exercises[exercise.id] ??= newState(factsOfMachine())
  const output = json ? process.stderr : process.stdout
  const columns = Math.min(output.columns || TERMINAL_COLUMNS, TERMINAL_COLUMNS)
  const say = (/** @type {string | Block[]} */ what) => {
    const blocks = typeof what === 'string' ? [paragraph(what)] : what
    output.write(`${terminalOf(blocks, columns)}\n\n`)
  }
  return {
    exercise,
    state: progress.exercises[exercise.id],
    save: () => writeProgress(out, progress),
    folder: path.join(out, exercise.name),
    seed,
    io,
    say,
    head: (/** @type {string} */ text) => say(styleText('bold', text, { stream: output })),
    by: /** @type {'student' | 'solution'} */ (solution ? 'solution' : 'student'),
    ...(solution ? solver(say) : createKeyboard(process.stdin, output, io.signal)),
  }
}

/** A question is asked again if its solution did not hold; more attempts than these would not differ. */
const MOST_SOLUTIONS = 3

/** Answers with the solutions. @param {(text: string) => void} say */
function solver(say) {
  const asked = new Map()
  return {
    /** @param {Question} question @param {Found} found @returns {Promise<string | null>} null: there will be no more */
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
