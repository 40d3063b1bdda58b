import { helpText, parseFlags, UsageError, wholeNumber } from '../../load/command/flags.js'
import { table } from '../../load/report/blocks.js'
import { tableMarkdown } from '../../load/report/markdown.js'
import { EXERCISES } from './exercises/index.js'
import { playThrough } from './script.js'

/** `node tuning/workshop/play.js`: every exercise to its end, through the real program, with answers wrong and right. */

const FLAGS = {
  out: { value: 'DIR', about: 'folder for progress and results (default results/workshop-played)' },
  only: { value: 'N', about: 'this exercise alone', ...wholeNumber(1, EXERCISES.length) },
  help: { value: '', about: 'this text' },
}

try {
  process.exitCode = await main(parseFlags(FLAGS, process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`redline: ${error.message}\n`)
  process.exitCode = 2
}

/** @param {Record<string, any>} flags @returns {Promise<number>} exit code */
async function main({ out: folder = 'results/workshop-played', only, help }) {
  if (help) {
    process.stdout.write(
      helpText('node tuning/workshop/play.js [flags]', FLAGS, '  node tuning/workshop/play.js --only 4'),
    )
    return 0
  }
  const rows = []
  let solved = 0
  for (const [i, { title }] of EXERCISES.entries()) {
    if (only !== undefined && only !== i + 1) continue
    const { codes, transcript, state, took_s } = await playThrough(i + 1, { folder })
    process.stdout.write(transcript)
    const isSolved = state.stage === 'done' && codes.every((code) => code === 0)
    if (isSolved) solved++
    const [wrong, ...others] = state.outcomes
    rows.push([
      `${i + 1}. ${title}`,
      wrong ? `${wrong.solved ? 'solved!' : 'not solved'}: ${wrong.because}` : 'not judged',
      `${isSolved ? 'solved' : 'not solved'} (${others.length} judged): ${others.at(-1)?.because ?? 'nothing'}`,
      String(state.round),
      `${took_s.toFixed(0)} s`,
    ])
  }
  process.stdout.write(
    `\n${tableMarkdown(table(['exercise', 'a wrong answer', 'the solution', 'rounds', 'took'], rows))}\n`,
  )
  return solved === rows.length ? 0 : 1
}
