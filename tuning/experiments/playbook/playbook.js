import { numberFlag, seedFlag, switchFlag } from '../../../load/command/flags.js'
import { isSameCell } from '../../../load/report/format.js'
import { localPlan } from '../../../load/run/plan.js'
import { median } from '../../../load/verdict/ranks.js'
import { openCell } from '../../knobs/open-cell.js'
import { trialsAt } from '../../stats/matrix.js'
import { CLAIMS, MEASURES } from './claims.js'
import { design, playbookDuration } from './design.js'
import { EXPERIMENTS } from './experiments.js'
import { playbookReport } from './report.js'
import { resultOf } from './results.js'

/**
 * @import { Experiment } from '../../../load/run/experiment.js'
 * @import { PlaybookPlan } from './results.js'
 * @import { Cell, TrialRecord } from '../../../load/report/record.js'
 */

const DEFAULTS = { blocks: 6, most_blocks: 36, seed: 1 }
const QUICK = 1
const IDS = CLAIMS.map(({ id }) => id)

/** The experiments that differ only in the pool and in the distance to the database. */
const POOLS = ['pool-here', 'pool-near', 'pool-far']

/** Do the playbook's claims still hold here? @type {Experiment<PlaybookPlan, PlaybookFindings>} */
export const playbook = {
  name: 'playbook',
  about: "do the playbook's claims hold here?",
  details: `Measures the playbook's claims again.\n\n${CLAIMS.map(({ id, sentence }) => `  ${id.padEnd(34)} ${sentence}`).join('\n')}`,
  flags: {
    claim: {
      value: 'ID',
      about: 'only this claim (repeatable)',
      multiple: true,
      parse: (text) => (IDS.includes(text) ? text : undefined),
      expected: `one of ${IDS.join(', ')}`,
    },
    blocks: numberFlag(
      `visits to each cell (default ${DEFAULTS.blocks}, and ${DEFAULTS.most_blocks} where they leave a claim undecided)`,
      1,
      100,
    ),
    quick: switchFlag('each cell once: about six minutes; ratios without intervals, so no verdicts'),
    seed: seedFlag(`seed of the order and the users (default ${DEFAULTS.seed})`),
  },
  examples: `  npm run playbook                  one to two hours: every claim again
  npm run playbook -- --out tuning/evidence/playbook   the same, for the pages: npm run docs quotes it
  npm run playbook -- --quick
  npm run playbook -- --claim batched-takes-more`,
  plan(flags) {
    const { claim: claims = IDS, seed = DEFAULTS.seed } = flags
    const exact = flags.blocks ?? (flags.quick ? QUICK : undefined)
    const experiments = claimsOf({ claims }).map(({ experiment }) => experiment)
    return {
      ...localPlan({ seed, duration_s: 2 }),
      claims: [...new Set(claims)],
      experiments: [...new Set(experiments)],
      blocks: exact ?? DEFAULTS.blocks,
      most_blocks: exact ?? DEFAULTS.most_blocks,
    }
  },
  size: (plan) => {
    const minutes = Math.ceil(playbookDuration(plan) / 60)
    return `${plan.claims.length} claims in ${plan.experiments.length} experiments: about ${minutes} min${plan.most_blocks > plan.blocks ? ', and more for a claim that is still undecided' : ''}`
  },
  design,
  open: (cell, place) => openCell(/** @type {Cell} */ (cell), place),
  analyse,
  report: playbookReport,
}

/** @param {Pick<PlaybookPlan, 'claims'>} plan */
function claimsOf({ claims }) {
  return CLAIMS.filter(({ id }) => claims.includes(id))
}

/** @typedef {ReturnType<typeof analyse>} PlaybookFindings */

/** Tests each claim against its trials. Pure. @param {PlaybookPlan} plan @param {TrialRecord[]} records */
function analyse(plan, records) {
  const results = claimsOf(plan).map((claim) => resultOf(claim, plan, records))
  const claims = results.map(({ id, verdict, effect: { ratio, low, high } }) => ({ id, ratio, low, high, verdict }))
  return {
    problem: claims.every(({ verdict }) => verdict === 'not measured') ? 'no claim could be measured' : null,
    kept: { claims },
    blocks: plan.blocks,
    most_blocks: plan.most_blocks,
    results,
    nodes: EXPERIMENTS.node.cells.flatMap((_, cell) => nodeOf(cell, plan, records)),
    pools: POOLS.flatMap((name) => EXPERIMENTS[name].cells.flatMap((cell) => poolOf(name, cell, records))),
  }
}

/** A version of Node: its costs, and its effect on the CPU per request of the first one. @param {number} cell @param {PlaybookPlan} plan @param {TrialRecord[]} records */
function nodeOf(cell, plan, records) {
  const own = trialsIn('node', EXPERIMENTS.node.cells[cell], records)
  if (own.length === 0) return []
  const of = (/** @type {keyof typeof MEASURES} */ measure) =>
    own.map((record) => Number(MEASURES[measure].value(record)))
  const claim = CLAIMS.find((one) => one.experiment === 'node' && one.cell === cell)
  const effect = claim ? resultOf(claim, plan, records).effect : null
  return [{ version: own[0].settings.NODE, cpu_us: of('cpu'), p99_ms: of('p99'), effect }]
}

/** The valid trials of a cell. @param {string} experiment @param {Cell} cell @param {TrialRecord[]} records */
function trialsIn(experiment, cell, records) {
  return trialsAt(records, { experiment }).filter((record) => isSameCell(record.cell, cell))
}

/**
 * The pool of a cell, and its rate by Little's law: connections divided by the time that a statement holds one.
 * @param {string} experiment @param {Cell} cell @param {TrialRecord[]} records
 */
function poolOf(experiment, cell, records) {
  const own = trialsIn(experiment, cell, records)
  if (own.length === 0) return []
  const held_ms = median(own.map(({ probes }) => probes.api.statement_mean_ms))
  const goodput_rps = median(own.map(({ traffic }) => traffic.goodput_rps))
  const { DB_DELAY_MS, POOL_MAX } = own[0].settings
  const predicted_rps = (1000 * Number(POOL_MAX)) / held_ms
  return [{ DB_DELAY_MS, POOL_MAX, held_ms, predicted_rps, goodput_rps }]
}
