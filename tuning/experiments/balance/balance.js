import { withDatabase } from '../../../load/command/environment.js'
import { helpText } from '../../../load/command/flags.js'
import { refuseUnnamed } from '../../../load/run/bench.js'
import { runOld } from '../../../load/run/old.js'
import { openRun } from '../../../load/run/open-run.js'
import { planCores } from '../../../load/system/machine.js'
import { whyUnsound } from '../../stats/sound.js'
import { pinAside, pinningText } from './cores.js'
import { failingFigures, overheadFigures, processFigures, strategyFigures } from './figures.js'
import { simulateAll } from './gains.js'
import { openStrategy } from './open.js'
import { balancePictures, balanceSentence } from './pictures.js'
import { FLAGS, planOf } from './plan.js'
import { durationOf, nextStep, partsOf, strategiesOf, trialsOf } from './steps.js'
import { balanceReport, balanceText } from './tables.js'
import { answerSentences, haproxyAgainstAdaptive } from './verdict.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Results } from '../../../load/run/results.js'
 * @import { Io } from '../../../load/run/runner.js'
 * @import { Verb } from '../../../load/run/shell.js'
 * @import { Simulation } from './gains.js'
 * @import { Plan } from './plan.js'
 * @import { Records } from './steps.js'
 */

const EXAMPLES = `  npm run balance                                about 18 minutes
  npm run balance -- --quick --slow 2x250ms
  npm run balance -- --only simulation --factor 0.6`

/** @type {Report} */
const REPORT = { markdown: balanceReport, sentence: balanceSentence, pictures: balancePictures }

/**
 * `npm run balance`: does adaptive balancing beat round robin over uneven endpoints?
 *
 * @type {Verb}
 */
export const balance = {
  about: 'does adaptive balancing beat round robin over uneven endpoints?',
  report: REPORT,
  help: helpText(
    'npm run balance -- [flags]\n\nDoes adaptive balancing beat round robin over uneven endpoints, and does HAProxy beat both?',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('balance', FLAGS, argv, planOf)
    refuseUnnamedDatabase(plan, databaseUrl, results, io)
    if (plan.haproxy_missing) io.progress.note(plan.haproxy_missing)
    io.progress.note(`${plan.parts.join(', ')}: about ${Math.ceil(durationOf(plan) / 60)} min`)
    const simulation = run.simulation ?? (await simulated(plan, results, io))
    const cores = plan.url ? pinAside() : planCores()
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records) => nextStep(plan, records),
        answer: (records) => ({ capacity: null, limit: null, ...answerOf(plan, records, simulation) }),
        open: (cell, place) => openStrategy(plan, String(cell), { ...place, cores: place.cores ?? cores?.api ?? null }),
        pinning: pinningText(cores, plan.parts.includes('processes')),
        report: REPORT,
      },
      io,
    )
    return { ...ended, text: balanceText(ended.run, ended.records), folder: results.folder, json }
  },
}

/**
 * Before the simulation, which takes a while.
 *
 * @param {Plan} plan
 * @param {string | undefined} databaseUrl
 * @param {Results} results
 * @param {Io} io
 */
function refuseUnnamedDatabase(plan, databaseUrl, results, { environment }) {
  if (plan.url) return
  try {
    refuseUnnamed(withDatabase(environment, databaseUrl))
  } catch (error) {
    results.releaseUnused()
    throw error
  }
}

/** @param {Plan} plan @param {Results} results @param {Io} io */
async function simulated(plan, results, { signal, progress }) {
  if (!plan.parts.includes('simulation')) return null
  progress.note('simulating …')
  return simulateAll(plan, signal).catch((error) => {
    results.releaseUnused()
    throw error
  })
}

/**
 * @param {Plan} plan
 * @param {Records} records
 * @param {Simulation | null} simulation
 */
function answerOf(plan, records, simulation) {
  const strategies = strategyFigures(plan, records)
  const crowded = strategyFigures(plan, records, 'crowded')
  return {
    answer: answerSentences(strategies, crowded, simulation).join(' '),
    strategies,
    crowded,
    failing: failingFigures(plan, records),
    overhead: overheadFigures(plan, records),
    processes: processFigures(plan, records),
    haproxy: haproxyAgainstAdaptive(plan, records),
    simulation,
    problem: problemOf(plan, records),
  }
}

/** @param {Plan} plan @param {Records} records */
function problemOf(plan, records) {
  for (const part of partsOf(plan)) {
    const silent = strategiesOf(part, plan).find((strategy) => trialsOf(records, part, strategy).length === 0)
    if (silent) {
      const last = records.findLast(({ cell }) => cell === `${part}/${silent}`)
      return `${part}: ${silent} had no trial that counts: ${last ? whyUnsound(last) : 'no trial'}`
    }
  }
  return null
}
