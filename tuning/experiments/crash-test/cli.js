import { env } from 'node:process'
import { markdownTable } from 'markdown-table'
import { helpText, parseFlags, UsageError, wholeNumber } from '../../../load/command/flags.js'
import { BLOWS, runRounds } from './rounds.js'

/** @import { Round } from './rounds.js' */

const FLAGS = {
  rounds: { value: 'N', about: 'times that each blow is struck (default 50)', ...wholeNumber(1, 10_000) },
  help: { value: '', about: 'this text' },
}
const EXAMPLES = `  npm run crash-test                       about 10 minutes
  INSERT_MODE=prepared npm run crash-test -- --rounds 5`

try {
  const { rounds = 50, help } = parseFlags(FLAGS, process.argv.slice(2))
  if (help)
    process.stdout.write(
      helpText('npm run crash-test -- [flags]\n\nIs anything acknowledged ever lost?', FLAGS, EXAMPLES),
    )
  else await main(rounds)
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`redline: ${error.message}\n`)
  process.exitCode = 2
}

/** @param {number} rounds */
async function main(rounds) {
  const total = rounds * Object.keys(BLOWS).length
  let done = 0
  const onRound = (/** @type {Round} */ { blow, acknowledged, lost, doubled, invented }) => {
    const wrong = `${lost.length} lost, ${doubled.length} doubled, ${invented.length} invented`
    process.stderr.write(`${++done} of ${total}: ${blow}: ${acknowledged} acknowledged, ${wrong}\n`)
  }
  const results = await runRounds({ rounds, env, onRound })
  const rows = Object.keys(BLOWS).map((blow) => {
    const own = results.filter((result) => result.blow === blow)
    const sum = (/** @type {(result: Round) => number} */ value) => {
      return String(own.reduce((all, result) => all + value(result), 0))
    }
    const counts = [sum((r) => r.acknowledged), sum((r) => r.unknown), sum((r) => r.lost.length)]
    return [blow, String(own.length), ...counts, sum((r) => r.doubled.length), sum((r) => r.invented.length)]
  })
  const head = ['blow', 'times', 'acknowledged', 'unknown', 'lost', 'doubled', 'invented']
  process.stdout.write(`${markdownTable([head, ...rows], { align: ['l', ...head.slice(1).map(() => 'r')] })}\n`)
  const wrong = results.some(({ lost, doubled, invented }) => lost.length + doubled.length + invented.length > 0)
  process.exitCode = wrong ? 1 : 0
}
