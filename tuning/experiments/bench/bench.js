import { duration, helpText, wholeNumber } from '../../../load/command/flags.js'
import { runOld, whereAndWhen } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { CONTENDERS } from './contenders.js'
import { benchPictures, benchSentence } from './pictures.js'
import { nextStep, visitsOf } from './steps.js'
import { benchTables } from './tables.js'
import { openContender } from './target.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Verb } from '../../../load/run/shell.js'
 * @import { BenchPlan } from './steps.js'
 */

/** @type {Record<string, any>} */
const DEFAULTS = { repeats: 5, duration: 3000, seed: 1 }
const TIMEOUT_S = 10
const NAMES = CONTENDERS.map(({ name }) => name)

const FLAGS = {
  repeats: {
    value: 'N',
    about: `blocks, each with every server once (default ${DEFAULTS.repeats})`,
    ...wholeNumber(1, 100),
  },
  duration: {
    value: 'TIME',
    about: `of each trial (default ${DEFAULTS.duration / 1000}s)`,
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  only: {
    value: 'A,B,C',
    about: `some of ${NAMES.join(', ')}`,
    parse: (/** @type {string} */ text) => {
      const names = text.split(',')
      return names.every((name) => NAMES.includes(name)) ? names : undefined
    },
    expected: `some of ${NAMES.join(',')}`,
  },
  seed: {
    value: 'N',
    about: `of the order and of the users (default ${DEFAULTS.seed})`,
    ...wholeNumber(0, 2 ** 32 - 1),
  },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run bench                     about 15 minutes
  npm run bench -- --only no-op,batched,fastify --repeats 2 --duration 1s`

/** @type {Report} */
const REPORT = { markdown: report, sentence: benchSentence, pictures: benchPictures }

/**
 * `npm run bench`: what does one insert cost here, and in other people's ways to write the same service?
 *
 * @type {Verb}
 */
export const bench = {
  about: 'what does an insert cost here, and elsewhere?',
  report: REPORT,
  help: helpText('npm run bench -- [flags]\n\nWhat does an insert cost here, and elsewhere?', FLAGS, EXAMPLES),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('bench', FLAGS, argv, planOf)
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records) => nextStep(plan, records),
        answer: (records) => ({ capacity: null, limit: null, problem: problemOf(plan, records) }),
        open: (cell, place) => openContender(/** @type {any} */ (CONTENDERS.find(({ name }) => name === cell)), place),
        report: REPORT,
      },
      io,
    )
    return { ...ended, text: benchTables(ended.records), folder: results.folder, json }
  },
}

/** @param {Record<string, any>} flags @returns {BenchPlan} */
function planOf(flags) {
  const { repeats, duration: duration_ms, seed, only = NAMES } = { ...DEFAULTS, ...flags }
  const contenders = NAMES.filter((name) => only.includes(name))
  return { ...localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S }), repeats, contenders }
}

/**
 * @param {BenchPlan} plan
 * @param {TrialRecord[]} records
 */
function problemOf(plan, records) {
  const wanted = visitsOf(plan).length
  const found = records.filter(
    ({ experiment, outcome }) => experiment.startsWith('saturation') && outcome.verdict !== 'invalid',
  ).length
  return found >= wanted ? null : `${wanted - found} of ${wanted} closed loops had no valid trial`
}

/** @param {any} run @param {TrialRecord[]} records */
function report(run, records) {
  const failed = records.filter(({ outcome }) => outcome.verdict !== 'pass')
  const { repeats, duration_s } = run.plan
  return `${[
    `# Redline bench: ${run.run_id}`,
    ...(run.problem ? [`No trustworthy answer: ${run.problem}.`] : []),
    benchTables(records),
    '## How it was measured',
    `- ${repeats} blocks, each with every server once, in an order of its own; trials of ${duration_s} s on a process of its own.`,
    '- Figures are medians over the blocks with [least–most]; ratios are taken within a block.',
    '- The stored rows are counted after each trial: every 201 is a row, or the trial does not count.',
    '- ≥: the generator was the limit, the server takes more.',
    `- ${run.pinning}`,
    ...failed.map(
      ({ trial, cell, outcome }) => `- trial ${trial}, ${cell}: **${outcome.verdict}**, ${outcome.because}`,
    ),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}
