import { writeFileSync } from 'node:fs'
import { duration, helpText, oneOf, UsageError, wholeNumber } from '../../../load/command/flags.js'
import { runOld } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { SSH_FLAGS, sshPlanOf } from '../../../load/system/ssh/plan.js'
import { KNOBS, parseKnob } from '../../knobs/knobs.js'
import { openCell } from '../../knobs/open-cell.js'
import { levelsOf } from '../../stats/design.js'
import { conclusionsOf } from '../article/conclusions.js'
import { articlePictures, articleSentence } from '../article/pictures.js'
import * as article from '../article/steps.js'
import { articleReport, articleText } from '../article/tables.js'
import { tunePictures, tuneSentence } from './pictures.js'
import { matrixOf, PRESETS } from './presets.js'
import { envFile, recommendationOf } from './recommend.js'
import { anchorCapacity, durationOf, finalistsOf, nextStep } from './steps.js'
import { capacityText, tuneReport, tuneText } from './tables.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Step } from '../../../load/run/experiment.js'
 * @import { Verb } from '../../../load/run/shell.js'
 * @import { ArticlePlan } from '../article/steps.js'
 * @import { NotApplied, Records, TunePlan } from './steps.js'
 */

const DEFAULTS = { preset: 'quick', seed: 1 }
const SLO = { p99_ms: 100, success_ratio: 1 }
const CONNECTIONS = 256
const TIMEOUT_S = 10
const ENV_FILE = 'recommended.env'

/** More is a mistake in the command line rather than a plan. */
const MAX_CELLS = 1000

/** The search for the anchor's capacity. */
const ANCHOR_S = 30

/** The article's eight cells: no matrix, since each row has a rate of its own. */
const ARTICLE = { name: 'article', blocks: 6, duration_ms: 6000, timeout_s: 30 }

const FLAGS = {
  preset: {
    value: 'NAME',
    about:
      'quick (6 minutes, default), pgbouncer (its pool and the API’s), full (every knob alone), article (its eight cells)',
    ...oneOf([...Object.keys(PRESETS), ARTICLE.name]),
  },
  knob: {
    value: 'NAME=A,B,C',
    about: 'every combination of these levels instead; the first is the reference; more than once',
    multiple: true,
  },
  blocks: { value: 'N', about: 'passes over all cells (default: enough for an interval)', ...wholeNumber(1, 100) },
  capacity: {
    value: 'RPS',
    about: 'what the rates are shares of (default: the capacity of the first cell, searched for)',
    ...wholeNumber(1, 1_000_000),
  },
  duration: {
    value: 'TIME',
    about: 'of each trial (default 2s, 1s in quick)',
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  seed: { value: 'N', about: `of the order and the users (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
  ...SSH_FLAGS,
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run tune                      about 6 minutes
  npm run tune -- --knob POOL_MAX=20,5,10,40,80 --knob INSERT_MODE=prepared
  npm run tune -- --preset full     about 1.5 hours
  npm run tune -- --preset article  about 45 minutes: published beside measured, a verdict on each conclusion
  npm run tune -- --ssh ubuntu@host --database-url 'postgres://…' --knob NOFILE=4096,1024`

const KNOB_LINES = Object.entries(KNOBS).map(([name, { about, levels }]) => {
  return `  ${name.padEnd(24)} ${about} (${levels.join(', ')})`
})

/** Of a matrix, or of the article's cells. @type {Report} */
const REPORT = {
  markdown: (run, records) => kindOf(run.plan).report.markdown(run, records),
  sentence: (run, records) => kindOf(run.plan).report.sentence(run, records),
  pictures: (run, records) => kindOf(run.plan).report.pictures(run, records),
}

/**
 * `npm run tune`: which knob matters, by how much?
 *
 * @type {Verb}
 */
export const tune = {
  about: 'which knob matters, by how much?',
  report: REPORT,
  help: helpText(
    `npm run tune -- [flags]\n\nTurns knobs, measures every cell in randomised blocks, and tells what each knob does.\n\nKnobs, with the levels of --preset full:\n${KNOB_LINES.join('\n')}`,
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('tune', FLAGS, argv, planOf)
    const { next, answer, text, size } = kindOf(plan)
    io.progress.note(size(plan))
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records, notApplied) => next(plan, records, notApplied),
        answer: (records) => ({ capacity: null, limit: null, ...answer(plan, records) }),
        open: (cell, place) => openCell(levelsOf(String(cell)), place),
        report: REPORT,
      },
      io,
    )
    if (ended.run.recommended && !ended.run.interrupted) writeEnvFile(results.file(ENV_FILE), ended)
    return { ...ended, text: text(ended.run, ended.records), folder: results.folder, json }
  },
}

/**
 * What a preset is run by.
 *
 * @typedef {object} Kind
 * @property {(plan: any, records: Records, notApplied: NotApplied) => Step | null} next
 * @property {(plan: any, records: Records) => { problem: string | null }} answer
 * @property {Report} report
 * @property {(run: any, records: Records) => string} text
 * @property {(plan: any) => string} size
 */

/** @type {Kind} */
const MATRICES = {
  next: nextStep,
  answer: answerOf,
  report: { markdown: tuneReport, sentence: tuneSentence, pictures: tunePictures },
  text: tuneText,
  size: matrixSize,
}

/** @type {Kind} */
const ARTICLES = {
  next: article.nextStep,
  answer: (_, records) => ({
    conclusions: conclusionsOf(records),
    problem: article.peakOf(records) === null ? `the article's design has no peak: ${lastReason(records)}` : null,
  }),
  report: { markdown: articleReport, sentence: articleSentence, pictures: articlePictures },
  text: articleText,
  size: (plan) => `8 rows by two generators in ${plan.blocks} blocks: ${minutes(article.durationOf(plan))}`,
}

/** @param {{ preset?: string | null }} plan */
function kindOf({ preset }) {
  return preset === ARTICLE.name ? ARTICLES : MATRICES
}

/** @param {Record<string, any>} flags @returns {TunePlan | ArticlePlan} */
function planOf(flags) {
  const plan = flags.preset === ARTICLE.name ? articlePlan(flags) : matrixPlan(flags)
  return { ...plan, ssh: sshPlanOf(flags) }
}

/** @param {Record<string, any>} flags @returns {ArticlePlan} */
function articlePlan({
  knob,
  seed = DEFAULTS.seed,
  blocks = ARTICLE.blocks,
  duration: duration_ms = ARTICLE.duration_ms,
}) {
  if (knob) throw new UsageError('--knob: cannot be combined with --preset, which has knobs of its own')
  const plan = localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: ARTICLE.timeout_s })
  return { ...plan, slo: SLO, blocks, preset: 'article' }
}

/** @param {Record<string, any>} flags @returns {TunePlan} */
function matrixPlan(flags) {
  const { preset = DEFAULTS.preset, seed = DEFAULTS.seed, knob, ...given } = flags
  if (flags.preset && knob) throw new UsageError('--knob: cannot be combined with --preset, which has knobs of its own')
  const matrix = knob ? matrixOf(distinct(knob.map(parsed))) : PRESETS[preset]()
  if (matrix.cells.length > MAX_CELLS) {
    throw new UsageError(
      `--knob: expected at most ${MAX_CELLS} cells, got ${matrix.cells.length}; leave out a knob or levels`,
    )
  }
  const { knobs, cells, blocks, duration_ms, precision_ratio } = matrix
  const duration_s = (given.duration ?? duration_ms) / 1000
  return {
    ...localPlan({ seed, duration_s, timeout_s: TIMEOUT_S }),
    preset: knob ? null : preset,
    slo: SLO,
    searches: true,
    connections: [CONNECTIONS],
    warmup_s: 0.5,
    ...(precision_ratio && { precision_ratio }),
    knobs,
    cells,
    anchor: cells[0],
    blocks: given.blocks ?? blocks,
    capacity_rps: given.capacity ?? null,
  }
}

/** @param {string} text */
function parsed(text) {
  const { name, levels } = parseKnob(text)
  return { name, levels: levels.map(String) }
}

/** @param {{ name: string, levels: string[] }[]} knobs */
function distinct(knobs) {
  const twice = knobs.find(({ name }, i) => knobs.findIndex((other) => other.name === name) !== i)
  if (twice) throw new UsageError(`--knob: expected each knob once, got ${twice.name} twice`)
  return knobs
}

/** @param {TunePlan} plan */
function matrixSize(plan) {
  return `${plan.cells.length} cells in ${plan.blocks} blocks: ${minutes(durationOf(plan) + ANCHOR_S)}`
}

/** @param {number} seconds */
function minutes(seconds) {
  const number = Math.max(1, Math.round(seconds / 60))
  return `about ${number} ${number === 1 ? 'minute' : 'minutes'}`
}

/** @param {TunePlan} plan @param {Records} records */
function answerOf(plan, records) {
  const known = anchorCapacity(plan, records) !== null
  const { levels, choices } = known ? recommendationOf(plan, records) : { levels: null, choices: [] }
  return { recommended: levels, choices, problem: problemOf(plan, records) }
}

/** @param {TunePlan} plan @param {Records} records */
function problemOf(plan, records) {
  if (anchorCapacity(plan, records) === null)
    return `the anchor (${plan.anchor}) has no capacity: ${lastReason(records)}`
  const measured = new Set(records.filter(({ experiment }) => experiment.startsWith('block/')).map(({ cell }) => cell))
  return measured.size > 0 ? null : 'no cell was measured'
}

/** @param {Records} records */
function lastReason(records) {
  return records.at(-1)?.outcome.because ?? 'it could not be had as its knobs want it'
}

/** @param {string} file @param {{ run: any, records: Records }} ended */
function writeEnvFile(file, { run, records }) {
  const { levels } = recommendationOf(run.plan, records)
  const finals = finalistsOf(run.plan, records).map(
    (cell) => `${cell}: ${capacityText('final', cell, run.plan, records)}`,
  )
  const notes = [
    `Recommended by ${run.run_id} on ${run.machine.cpu_model}, ${run.machine.cores} cores. To take them: cat ${ENV_FILE} >> .env`,
    ...(finals.length > 0 ? finals : ['No level was better than the reference.']),
  ]
  writeFileSync(file, envFile(levels, notes))
}
