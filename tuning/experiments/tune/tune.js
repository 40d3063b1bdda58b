import { UsageError } from '../../../load/command/errors.js'
import { durationFlag, numberFlag, oneOf, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { mostConnections } from '../../../load/generators/connections.js'
import { localPlan, PLAN_FLAGS } from '../../../load/run/plan.js'
import { SSH_FLAGS, sshPlanOf } from '../../../load/system/ssh/plan.js'
import { KNOBS, parseKnob } from '../../knobs/knobs.js'
import { openCell } from '../../knobs/open-cell.js'
import { analyseArticle, articleDuration, designArticle } from './article/article.js'
import { articleReport } from './article/report.js'
import { designMatrix, matrixDuration } from './design.js'
import { analyseMatrix } from './findings.js'
import { expectedCells, GENEROUS_CELL } from './limits/needs.js'
import { openFilled } from './open.js'
import { matrixOf, PRESETS } from './presets.js'
import { matrixFiles, matrixReport } from './report.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { Factor } from '../../stats/design.js'
 * @import { ArticlePlan } from './article/article.js'
 * @import { TunePlan } from './design.js'
 * @import { Cell } from '../../../load/report/record.js'
 */

const DEFAULTS = { preset: 'limits', seed: 1 }
const SLO = { p99_ms: 100, success_ratio: 1 }
const CONNECTIONS = 256

const QUICK = { blocks: 1, duration_ms: 1000 }

/** More is a mistake in the command line rather than a plan. */
const MAX_CELLS = 1000

/** Levels follow from the first trials; with so many connections, even a short overload makes requests wait. */
const LIMITS = { blocks: 2, duration_ms: 1000, connections: 1000 }

/** Presets that turn the pool's timeout down to what a login may take under load. */
const FILLED = new Set(/** @type {(string | null)[]} */ (['limits', 'article']))

/** The article's eight rows are cells with a rate of their own each. */
const ARTICLE = { blocks: 6, duration_ms: 6000, timeout_s: 30 }

const KNOB_LINES = Object.entries(KNOBS).map(([name, { about, levels }]) => {
  return `  ${name.padEnd(24)} ${about} (${levels.join(', ')})`
})

/** Which knob matters, by how much? @type {Experiment} */
export const tune = {
  name: 'tune',
  about: 'which knob matters, and by how much?',
  details: `Measures every combination of settings in randomised blocks, and reports what each knob does.\nBefore that, it proves the limit of the first combination: this shows which knobs can matter at all.\n\nKnobs, with the levels of --preset full:\n${KNOB_LINES.join('\n')}`,
  flags: {
    preset: {
      value: 'NAME',
      about:
        "limits (default: pool, its timeout and open files, at levels around what is needed), pgbouncer (its pool and the API's), growth (a large table, more indexes, Postgres' upkeep), full (every knob alone), article (its eight rows)",
      ...oneOf(['limits', ...Object.keys(PRESETS), 'article']),
    },
    knob: {
      value: 'NAME=A,B,C',
      about: 'measure every combination of these levels; the first is the reference (repeatable)',
      multiple: true,
    },
    quick: switchFlag(
      'limits: two levels of each knob (about 3 minutes); otherwise, one block of trials of 1s, and no intervals; without the proof',
    ),
    blocks: numberFlag('passes over all combinations (default: enough for an interval)', 1, 100),
    capacity: {
      ...numberFlag(
        'capacity that the rates are shares of (default: measured, with the first combination)',
        1,
        1_000_000,
      ),
      value: 'RPS',
    },
    duration: durationFlag('duration of each trial (default 1s in limits, otherwise 2s)'),
    'no-proof': PLAN_FLAGS['no-proof'],
    seed: seedFlag(`seed of the order and the users (default ${DEFAULTS.seed})`),
    ...SSH_FLAGS,
  },
  examples: `  npm run tune                      about 7 minutes
  npm run tune -- --quick           about 3 minutes
  npm run tune -- --knob POOL_MAX=20,5,10,40,80 --knob INSERT_MODE=prepared
  npm run tune -- --preset growth   about 20 minutes, and 2 GB of disk
  npm run tune -- --preset full     about an hour
  npm run tune -- --preset article  about half an hour: published figures next to ours, and a verdict on each conclusion
  npm run tune -- --ssh ubuntu@host --database-url 'postgres://…' --knob NOFILE=4096,1024`,
  plan: planOf,
  size: (plan) => {
    const [visits, duration_s] = isArticle(plan)
      ? ['8 rows by two generators', articleDuration(plan)]
      : [
          `${(plan.cells.length > 0 ? plan.cells : expectedCells(plan.is_quick)).length} combinations of settings`,
          matrixDuration(plan),
        ]
    return `${visits}, each measured in ${plan.blocks} ${plan.blocks === 1 ? 'block' : 'blocks'}: about ${Math.ceil(duration_s / 60)} min`
  },
  design: (plan, ...known) => (isArticle(plan) ? designArticle(plan, ...known) : designMatrix(plan, ...known)),
  open: (cell, place, { preset }) => (FILLED.has(preset) ? openFilled : openCell)(/** @type {Cell} */ (cell), place),
  analyse: (plan, records, { not_applied } = {}) => {
    return isArticle(plan) ? analyseArticle(plan, records) : analyseMatrix(plan, records, not_applied)
  },
  report: (findings) => (isArticle(findings) ? articleReport(findings) : matrixReport(findings)),
  files: (findings, run) => (isArticle(findings) ? {} : matrixFiles(findings, run)),
}

/** Whether a plan or its findings are about the article's rows. @param {{ preset: string | null }} named */
function isArticle({ preset }) {
  return preset === 'article'
}

/** @param {Record<string, any>} flags @returns {ArticlePlan | TunePlan} */
function planOf(flags) {
  const { preset = DEFAULTS.preset, seed = DEFAULTS.seed, knob, capacity = null, quick = false } = flags
  if (flags.preset && knob) throw new UsageError('--knob: cannot be combined with --preset, which has knobs of its own')
  const matrix = knob ? matrixOf(distinct(knob.map(parseKnob))) : PRESETS[preset]?.()
  const isLimits = !knob && preset === 'limits'
  const usual = { timeout_s: 10, ...(matrix ?? (isLimits ? LIMITS : ARTICLE)) }
  const { blocks, duration_ms, timeout_s } = quick && !isLimits ? { ...usual, ...QUICK } : usual
  const common = {
    ...localPlan({ seed, duration_s: (flags.duration ?? duration_ms) / 1000, timeout_s }),
    ssh: sshPlanOf(flags),
    slo: SLO,
    blocks: flags.blocks ?? blocks,
  }
  const proves = capacity === null && !flags['no-proof'] && !quick && { proves: true }
  if (isLimits) {
    const connections = [Math.min(LIMITS.connections, mostConnections({}))]
    const open = { preset, connections, knobs: [], cells: [], anchor: GENEROUS_CELL, capacity_rps: capacity }
    return { ...common, ...open, ...proves, ...(quick && { is_quick: true }) }
  }
  if (!matrix && flags.capacity !== undefined)
    throw new UsageError('--capacity: cannot be combined with --preset article, which measures its own peak')
  if (!matrix) return { ...common, preset }
  const { knobs, cells, precision_ratio } = matrix
  if (cells.length > MAX_CELLS) {
    throw new UsageError(
      `--knob: expected at most ${MAX_CELLS} combinations of settings, got ${cells.length}; leave out a knob or levels`,
    )
  }
  const search = {
    searches: true,
    connections: [CONNECTIONS],
    connections_max: mostConnections({}),
    warmup_s: 0.5,
    ...(precision_ratio && { precision_ratio }),
    ...(proves && { ...proves, enlarges_pool: true }),
  }
  return { ...common, ...search, preset: knob ? null : preset, knobs, cells, anchor: cells[0], capacity_rps: capacity }
}

/** @param {Factor[]} knobs */
function distinct(knobs) {
  const twice = knobs.find(({ name }, i) => knobs.findIndex((other) => other.name === name) !== i)
  if (twice) throw new UsageError(`--knob: expected each knob once, got ${twice.name} twice`)
  if (knobs.every(({ levels }) => levels.length < 2))
    throw new UsageError('--knob: expected at least two levels of a knob, such as POOL_MAX=5,20, got one of each')
  return knobs
}
