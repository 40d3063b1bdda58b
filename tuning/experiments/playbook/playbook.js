import { helpText, wholeNumber } from '../../../load/command/flags.js'
import { runOld } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { openCell } from '../../knobs/open-cell.js'
import { levelsOf } from '../../stats/design.js'
import { CLAIMS } from './claims.js'
import { playbookPictures, playbookSentence } from './pictures.js'
import { durationOf, nextStep } from './steps.js'
import { claimsTable, playbookReport, verdictsText } from './tables.js'
import { resultOf } from './verdict.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Verb } from '../../../load/run/shell.js'
 * @import { PlaybookPlan, Records } from './steps.js'
 */

const DEFAULTS = { blocks: 6, seed: 1 }
const TIMEOUT_S = 10
const IDS = CLAIMS.map(({ id }) => id)

const FLAGS = {
  claim: {
    value: 'ID',
    about: 'this claim only; may be given more than once',
    multiple: true,
    parse: (/** @type {string} */ text) => (IDS.includes(text) ? text : undefined),
    expected: `one of ${IDS.join(', ')}`,
  },
  blocks: {
    value: 'N',
    about: `each cell so often (default ${DEFAULTS.blocks}, the least for an interval)`,
    ...wholeNumber(1, 100),
  },
  seed: { value: 'N', about: `of the order and the users (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run playbook                  about 30 minutes: every claim again
  npm run playbook -- --out tuning/evidence/playbook   the same, for the pages: npm run docs quotes it
  npm run playbook -- --claim batched-takes-more`

/** @type {Report} */
const REPORT = { markdown: playbookReport, sentence: playbookSentence, pictures: playbookPictures }

/**
 * `npm run playbook`: does what the playbook says still hold, here?
 *
 * @type {Verb}
 */
export const playbook = {
  about: 'does what the playbook says hold here?',
  report: REPORT,
  help: helpText(
    `npm run playbook -- [flags]\n\nMeasures the playbook's claims again.\n\n${CLAIMS.map(({ id, sentence }) => `  ${id.padEnd(34)} ${sentence}`).join('\n')}`,
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('playbook', FLAGS, argv, planOf)
    const seconds = plan.experiments.reduce((sum, name) => sum + durationOf(name, plan.blocks), 0)
    io.progress.note(
      `${plan.claims.length} claims in ${plan.experiments.length} experiments: about ${Math.ceil(seconds / 60)} min`,
    )
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records, notApplied) => nextStep(plan, records, notApplied),
        answer: (records) => ({ capacity: null, limit: null, ...answerOf(plan, records) }),
        open: (cell, place) => openCell(levelsOf(String(cell)), place),
        report: REPORT,
      },
      io,
    )
    const claims = claimsOf(plan)
    const text = [claimsTable(claims, ended.records), verdictsText(ended.records, claims)].join('\n\n')
    return { ...ended, text, folder: results.folder, json }
  },
}

/** @typedef {PlaybookPlan & { claims: string[] }} Plan */

/** @param {Record<string, any>} flags @returns {Plan} */
function planOf(flags) {
  const { claim: claims = IDS, blocks, seed } = { ...DEFAULTS, ...flags }
  const experiments = CLAIMS.filter(({ id }) => claims.includes(id)).map(({ experiment }) => experiment)
  return {
    ...localPlan({ seed, duration_s: 2, timeout_s: TIMEOUT_S }),
    claims: [...new Set(claims)],
    experiments: [...new Set(experiments)],
    blocks,
  }
}

/** @param {Plan} plan */
function claimsOf({ claims }) {
  return CLAIMS.filter(({ id }) => claims.includes(id))
}

/** @param {Plan} plan @param {Records} records */
function answerOf(plan, records) {
  const results = claimsOf(plan).map((claim) => resultOf(claim, records))
  const claims = results.map(({ claim: { id }, effect, verdict }) => ({
    id,
    ratio: effect.ratio,
    low: effect.low,
    high: effect.high,
    verdict,
  }))
  const problem = results.every(({ verdict }) => verdict === 'not measured') ? 'no claim could be measured' : null
  return { claims, problem }
}
