import { nextRung } from '../../../load/capacity/ladder.js'
import { withDatabase } from '../../../load/command/environment.js'
import { duration, helpText, UsageError, wholeNumber } from '../../../load/command/flags.js'
import { cellName } from '../../../load/report/format.js'
import { refuseUnnamed } from '../../../load/run/bench.js'
import { runOld } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { SSH_FLAGS, sshPlanOf } from '../../../load/system/ssh/plan.js'
import { relaxedCell } from '../../../load/verdict/relax.js'
import { cellOf, faultOf, openFaulty } from './cells.js'
import { FAULTS } from './index.js'
import { namespaceProblem, runInside } from './inside.js'
import { faultsPictures, faultsSentence } from './pictures.js'
import { confusionTable, faultsReport, plantedTrial, problemOf } from './table.js'

/**
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Results } from '../../../load/run/results.js'
 * @import { Plan, Step } from '../../../load/run/experiment.js'
 * @import { Io } from '../../../load/run/runner.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Verb } from '../../../load/run/shell.js'
 */

/** @type {Record<string, any>} */
const DEFAULTS = { repeats: 1, duration: 3000, seed: 1 }
const NAMES = FAULTS.map(({ name }) => name)
const SLO = { p99_ms: 100, success_ratio: 1 }
const TIMEOUT_S = 2
const WARMUP_S = 1
const CONNECTIONS = 64

const FLAGS = {
  repeats: { value: 'N', about: `times in a row (default ${DEFAULTS.repeats})`, ...wholeNumber(1, 100) },
  duration: {
    value: 'TIME',
    about: `of each trial (default ${DEFAULTS.duration / 1000}s)`,
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  only: {
    value: 'A,B,C',
    about: 'some of them',
    parse: (/** @type {string} */ text) => {
      const names = text.split(',')
      return names.every((name) => NAMES.includes(name)) ? names : undefined
    },
    expected: `some of ${NAMES.join(',')}`,
  },
  seed: { value: 'N', about: `of the users (default ${DEFAULTS.seed})`, ...wholeNumber(0, 2 ** 32 - 1) },
  inside: {
    value: '',
    about: 'all in this network namespace (the run starts itself like this where a fault needs one)',
  },
  ...SSH_FLAGS,
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run faults                    about 4 minutes
  npm run faults -- --only pool-of-one,held-lock --repeats 3
  npm run faults -- --ssh ubuntu@host --database-url 'postgres://…'   those that can be made and seen there`

/** @type {Report} */
const REPORT = { markdown: faultsReport, sentence: faultsSentence, pictures: faultsPictures }

/**
 * `npm run faults`: is the limit that is named the one that was planted?
 *
 * @type {Verb}
 */
export const faults = {
  about: 'is the limit that is named the one that was planted?',
  report: REPORT,
  help: helpText(
    `npm run faults -- [flags]\n\nPlants one fault after the other, for real, and tells which limit is named.\n\n${FAULTS.map(({ name, resource, about }) => `  ${name.padEnd(22)} ${resource.padEnd(21)} ${about}`).join('\n')}`,
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('faults', FLAGS, argv, planOf)
    const inside = async () => {
      refuseUnnamed(withDatabase(io.environment, databaseUrl))
      await addInside(plan, results, run.run_id, io)
    }
    await inside().catch((error) => {
      results.releaseUnused()
      throw error
    })
    const ended = await runOld(
      {
        run,
        plan,
        results,
        databaseUrl,
        next: (records) => nextStep(plan, records),
        answer: (records) => ({ capacity: null, limit: null, problem: problemOf(plan, records) }),
        open: openFaulty,
        report: REPORT,
      },
      io,
    )
    return { ...ended, text: confusionTable(ended.records), folder: results.folder, json }
  },
}

/** @typedef {TrialRecord[]} Records */
/** @typedef {Plan & { repeats: number, faults: string[], inside: boolean, skipped: string | null }} FaultsPlan skipped: why some were */

/** @param {Record<string, any>} flags @returns {FaultsPlan} */
function planOf(flags) {
  const { repeats, duration: duration_ms, seed, only = NAMES } = { ...DEFAULTS, ...flags }
  const ssh = sshPlanOf(flags)
  const plan = { ...localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S }), ssh }
  const names = NAMES.filter((name) => only.includes(name) && !(ssh && faultOf(name).here))
  if (names.length === 0) throw new UsageError(`--only: expected faults that can be made on another host, got ${only}`)
  const inside = flags.inside === true
  const problem = !inside && names.some((name) => faultOf(name).namespace) ? namespaceProblem() : null
  const possible = names.filter((name) => problem === null || !faultOf(name).namespace)
  return { ...plan, slo: SLO, warmup_s: WARMUP_S, repeats, faults: possible, inside, skipped: problem }
}

/**
 * What has to run in a network namespace of its own comes first, as records like all others.
 *
 * @param {FaultsPlan} plan
 * @param {Results} results
 * @param {string} run_id
 * @param {Io} io
 */
async function addInside(plan, results, run_id, io) {
  if (plan.skipped) io.progress.note(`skipped what needs a namespace: ${plan.skipped}`)
  const names = plan.faults.filter((name) => faultOf(name).namespace && !plan.inside)
  const done = results.readTrials()
  if (names.length === 0 || done.length > 0) return
  for (const record of await runInside(names, plan, io)) results.appendTrial({ ...record, run_id })
}

/**
 * Each fault once, and again with the accused limit relaxed where it is a knob of ours. Pure.
 *
 * @param {FaultsPlan} plan
 * @param {Records} records
 * @returns {Step | null}
 */
function nextStep({ repeats, faults: names, warmup_s, duration_s }, records) {
  for (let block = 0; block < repeats; block++) {
    for (const [i, name] of names.entries()) {
      const experiment = `faults/${block}`
      const own = records.filter((record) => record.experiment === experiment && faultOf(record.cell).name === name)
      const left_s = ((repeats - block) * names.length - i) * (warmup_s + duration_s + 1)
      const { rate_rps, connections = CONNECTIONS, ...limits } = faultOf(name).load
      const load = {
        driver: 'paced',
        loop: /** @type {const} */ ('open'),
        rate_rps,
        connections,
        warmup_s,
        duration_s,
        ...limits,
      }
      const planted = plantedTrial(own)
      if (!planted) return { experiment, cell: name, left_s, load }
      const notch = cellName(relaxedCell(planted.limit.resource, planted.settings)) || null
      const cell = cellOf(name, notch)
      if (
        notch &&
        nextRung(
          [load],
          own.filter((record) => record.cell === cell),
        )
      )
        return { experiment, cell, left_s, load }
    }
  }
  return null
}
