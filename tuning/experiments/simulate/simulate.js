import { markdownTable } from 'markdown-table'
import { helpText, parseFlags, UsageError, wholeNumber } from '../../../load/command/flags.js'
import { CURVES } from './curves.js'
import { simulate, summarize } from './runs.js'

/**
 * `npm run simulate`: how good is the search for the capacity? Searches synthetic services whose capacity is known, and
 * prints how often the interval holds it.
 */

const FLAGS = {
  runs: { value: 'N', about: 'searches of each kind of service (default 1000)', ...wholeNumber(1, 1_000_000) },
  seed: { value: 'N', about: 'the same seed gives the same table (default 1)', ...wholeNumber(0, 2 ** 31) },
  help: { value: '', about: 'this text' },
}

const HEAD = ['service', 'inside', '± 5 %', 'stated', 'bias', 'p5–p95', 'trials', 'p95', 'time', 'no answer']

const NOTES = `- inside: the capacity lies in the interval; ± 5 %: or no more than that beside it; stated: mean confidence
- bias, p5–p95: middle of the interval / capacity; where there is only a lower bound, that / what the generator can do
- trials, p95: until the search ends; time: mean, with 1.2 s beside each trial`

try {
  const { runs = 1000, seed = 1, help } = parseFlags(FLAGS, process.argv.slice(2))
  process.stdout.write(
    help ? usage() : `${table({ runs, seed })}\n\n${about()}\n${NOTES}\n- ${runs} searches each, seed ${seed}\n`,
  )
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  process.stderr.write(`redline: ${error.message}\n`)
  process.exitCode = 2
}

function usage() {
  return helpText(
    'npm run simulate -- [flags]\n\nHow good is the search?',
    FLAGS,
    '  npm run simulate -- --runs 5000\n',
  )
}

/** @param {{ runs: number, seed: number }} options */
function table(options) {
  const rows = Object.keys(CURVES).map((name) => {
    const found = summarize(simulate(name, options))
    return [
      name,
      percent(found.inside),
      percent(found.near),
      percent(found.confidence),
      `${found.bias < 0 ? '' : '+'}${percent(found.bias)}`,
      `${found.p5.toFixed(2)}–${found.p95.toFixed(2)}`,
      String(found.trials),
      String(found.trials_p95),
      `${Math.round(found.time_s)} s`,
      percent(found.unanswered),
    ]
  })
  return markdownTable([HEAD, ...rows], { align: ['l', ...HEAD.slice(1).map(() => 'r')] })
}

function about() {
  return Object.entries(CURVES)
    .map(([name, curve]) => `- ${name}: ${curve.about}`)
    .join('\n')
}

/** @param {number} ratio */
function percent(ratio) {
  return `${(ratio * 100).toFixed(1)} %`
}
