import { duration, helpText, UsageError, wholeNumber, wholeNumbers } from '../../../load/command/flags.js'
import { MIX_FLAGS, mixOf } from '../../../load/generators/mix-flags.js'
import { runOld } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { openSide, SIDE, sideFlag } from '../../knobs/sides.js'
import { comparePictures, compareSentence } from './pictures.js'
import { durationOf, nextStep } from './steps.js'
import { compareReport, compareText } from './tables.js'
import { answerSentence, differencesOf, problemOf } from './verdict.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Verb } from '../../../load/run/shell.js'
 * @import { ComparePlan, Records } from './steps.js'
 */

const DEFAULTS = { concurrency: [1, 10, 100], 'per-worker-rps': 50, seed: 1 }

/** Ten blocks are the least for intervals that together miss in one run of twenty. */
const USUAL = { blocks: 10, duration: 2000, ladders: 10, rung_s: 1 }
const QUICK = { blocks: 8, duration: 500, ladders: 1, rung_s: 0.5 }
const TIMEOUT_S = 10

const FLAGS = {
  a: { value: 'URL|FILE', about: SIDE, ...sideFlag('a') },
  b: { value: 'URL|FILE', about: 'the other one', ...sideFlag('b') },
  concurrency: {
    value: 'A,B,C',
    about: `workers of the closed loops (default ${DEFAULTS.concurrency})`,
    ...wholeNumbers(1, 1000),
  },
  'per-worker-rps': {
    value: 'N',
    about: `cap of each worker while the maximum is looked for (default ${DEFAULTS['per-worker-rps']})`,
    ...wholeNumber(1, 100_000),
  },
  blocks: { value: 'N', about: `passes over both sides (default ${USUAL.blocks})`, ...wholeNumber(1, 1000) },
  duration: {
    value: 'TIME',
    about: `of each closed loop (default ${USUAL.duration / 1000}s)`,
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  quick: { value: '', about: 'shorter loops, and the maximum once: under two minutes' },
  ...MIX_FLAGS,
  seed: { value: 'N', about: `of the order and the users (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run compare -- --a http://127.0.0.1:8080/user --b http://127.0.0.1:8081/user
  echo INSERT_MODE=single > a.env; echo INSERT_MODE=batched > b.env
  npm run compare -- --a a.env --b b.env --quick
  NODE_EXTRA_CA_CERTS=ca.pem npm run compare -- --a https://a.test/user --b https://b.test/user`

/** @type {Report} */
const REPORT = { markdown: compareReport, sentence: compareSentence, pictures: comparePictures }

/**
 * `npm run compare`: which of two targets is faster, and is the difference real?
 *
 * @type {Verb}
 */
export const compare = {
  about: 'which of two targets is faster, and is the difference real?',
  report: REPORT,
  help: helpText(
    'npm run compare -- --a URL|FILE --b URL|FILE [flags]\n\nWhich of two targets is faster, and is the difference real?',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl, warnings } = openRun('compare', FLAGS, argv, planOf)
    for (const text of warnings) io.progress.note(`warning: ${text}`)
    io.progress.note(`${plan.blocks} blocks: about ${Math.ceil(durationOf(plan) / 60)} min`)
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records) => nextStep(plan, records),
        answer: (records) => ({ capacity: null, limit: null, ...answerOf(plan, records) }),
        open: (cell, place) => openSide(plan.sides[/** @type {'a' | 'b'} */ (cell)], place),
        report: REPORT,
      },
      io,
    )
    return { ...ended, text: compareText(ended.run, ended.records), folder: results.folder, json }
  },
}

/** @param {Record<string, any>} flags @returns {ComparePlan} */
function planOf(flags) {
  const { a, b, ...given } = flags
  for (const [name, side] of Object.entries({ a, b })) {
    if (!side) throw new UsageError(`--${name}: expected ${SIDE}, got nothing`)
  }
  const usual = given.quick ? QUICK : USUAL
  const blocks = given.blocks ?? usual.blocks
  const duration_s = (given.duration ?? usual.duration) / 1000
  const plan = localPlan({ seed: given.seed ?? DEFAULTS.seed, duration_s, timeout_s: TIMEOUT_S })
  return {
    ...plan,
    mix: mixOf({ ...given, seed: plan.mix.seed }),
    // Where neither side is ours, no database is.
    url: a.url && b.url ? a.url : null,
    sides: { a, b },
    concurrency: given.concurrency ?? DEFAULTS.concurrency,
    per_worker_rps: given['per-worker-rps'] ?? DEFAULTS['per-worker-rps'],
    blocks,
    ladders: Math.min(blocks, usual.ladders),
    rung_s: usual.rung_s,
  }
}

/** @param {ComparePlan} plan @param {Records} records */
function answerOf(plan, records) {
  const differences = differencesOf(plan, records)
  return { differences, answer: answerSentence(differences), problem: problemOf(records) }
}
