import { numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { answer, table } from '../../../load/report/blocks.js'
import { count } from '../../../load/report/format.js'
import { BLOWS, runRounds } from './rounds.js'

/**
 * @import { Measurement } from '../../../load/run/experiment.js'
 * @import { Round } from './rounds.js'
 */

const NAMES = Object.keys(BLOWS)
const WRONG = /** @type {const} */ (['lost', 'doubled', 'invented'])

/** Is anything acknowledged ever lost, whichever process dies? @type {Measurement} */
export const crashTest = {
  name: 'crash-test',
  about: 'is anything acknowledged ever lost?',
  flags: {
    blocks: numberFlag('blocks, in each of which every process is killed once (default 50, quick 5)', 1, 10_000),
    quick: switchFlag('fewer blocks: about a minute'),
    seed: seedFlag('seed of the moments at which processes are killed (default 1)'),
  },
  examples: `  npm run crash-test                       about 10 minutes
  INSERT_MODE=prepared npm run crash-test -- --blocks 5`,
  plan: ({ quick, blocks = quick ? 5 : 50, seed = 1 }) => ({ rounds: blocks, seed }),
  async *measure({ rounds, seed }, { signal, progress, environment }) {
    let done = 0
    for await (const round of runRounds({ rounds, seed, env: environment.forApi, signal })) {
      const counts = `${round.acknowledged} acknowledged, ${wrongText(totalsOf([round]))}`
      progress.note(`${++done} of ${rounds * NAMES.length}: ${round.blow}: ${counts}`)
      yield round
    }
  },
  analyse(_, /** @type {Round[]} */ rows) {
    const totals = totalsOf(rows)
    const isWrong = WRONG.some((kind) => totals[kind] > 0)
    const problem = isWrong ? `expected nothing lost, doubled or invented, got ${wrongText(totals)}` : null
    const blows = NAMES.map((blow) => ({ blow, ...totalsOf(rows.filter((row) => row.blow === blow)) }))
    return { problem, totals, blows }
  },
  report: ({ totals, blows }) => [
    answer(
      `Of ${count(totals.acknowledged)} acknowledged rows in ${totals.times} crashes, ${count(totals.lost)} were lost and ${count(totals.doubled)} doubled; ${count(totals.invented)} were invented.`,
    ),
    table(
      ['blow', 'times', 'acknowledged', 'unknown', ...WRONG],
      blows.map((/** @type {any} */ { blow, ...counts }) => [blow, ...Object.values(counts).map(count)]),
      { name: 'blows' },
    ),
  ],
}

/** @param {Round[]} rounds */
function totalsOf(rounds) {
  const sum = (/** @type {(round: Round) => number} */ of) => rounds.reduce((total, round) => total + of(round), 0)
  return {
    times: rounds.length,
    acknowledged: sum(({ acknowledged }) => acknowledged),
    unknown: sum(({ unknown }) => unknown),
    lost: sum(({ lost }) => lost.length),
    doubled: sum(({ doubled }) => doubled.length),
    invented: sum(({ invented }) => invented.length),
  }
}

/** @param {ReturnType<typeof totalsOf>} totals */
function wrongText(totals) {
  return WRONG.map((kind) => `${totals[kind]} ${kind}`).join(', ')
}
