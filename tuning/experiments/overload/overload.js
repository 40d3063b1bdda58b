import { markdownTable } from 'markdown-table'
import { nextRung } from '../../../load/capacity/ladder.js'
import { duration, helpText, wholeNumber } from '../../../load/command/flags.js'
import { count, milliseconds, NONE, offered } from '../../../load/report/table.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'
import { runExperiment } from '../../../load/run/run.js'
import { settingsLine, whereAndWhen } from '../../../load/verbs/sweep/report.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Report } from '../../../load/report/write.js'
 * @import { Plan, Step } from '../../../load/run/run.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Verb } from '../../../load/run/verb.js'
 */

const DEFAULTS = { duration: 60_000, connections: 2000, seed: 1 }
const TIMEOUT_S = 5
const PEAK = { connections: 128, warmup_s: 3, duration_s: 5 }
const HALF = { warmup_s: 2, duration_s: 5 }

/** What is offered, as shares of the peak, in this order. */
const SHARES = [0.5, 2, 0.5, 3, 0.5]

const FLAGS = {
  duration: {
    value: 'TIME',
    about: `of each overload (default ${DEFAULTS.duration / 1000}s)`,
    parse: duration,
    expected: 'a time such as 500ms, 10s or 2m',
  },
  connections: { value: 'N', about: `of the open loop (default ${DEFAULTS.connections})`, ...wholeNumber(1, 15_000) },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run overload                  about 2.5 minutes
  MAX_QUEUE_MS=100 INSERT_MODE=prepared npm run overload -- --duration 10s`

/** @type {Report} */
const REPORT = { markdown: report, sentence, pictures }

/**
 * `npm run overload`: what is left of the peak at two and three times of it, and how soon is it normal again?
 *
 * @type {Verb}
 */
export const overload = {
  about: 'what is left when more is asked than can be done?',
  report: REPORT,
  help: helpText(
    'npm run overload -- [flags]\n\nWhat is left of the peak at two and three times of it?',
    FLAGS,
    EXAMPLES,
  ),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('overload', FLAGS, argv, planOf)
    const next = (/** @type {Records} */ records) => nextStep(plan, records)
    const answer = (/** @type {Records} */ records) => ({ capacity: null, limit: null, problem: problemOf(records) })
    const ended = await runExperiment({ run, plan, results, databaseUrl, next, answer, report: REPORT }, io)
    return { ...ended, text: overloadTable(ended.records), folder: results.folder, json }
  },
}

/** @typedef {TrialRecord[]} Records */

/** @param {Record<string, any>} flags */
function planOf(flags) {
  const { duration: duration_ms, connections, seed } = { ...DEFAULTS, ...flags }
  return { ...localPlan({ seed, duration_s: duration_ms / 1000, timeout_s: TIMEOUT_S }), open: connections }
}

/**
 * The peak in a closed loop, then shares of it in an open one. Pure.
 *
 * @param {Plan & { open: number }} plan
 * @param {Records} records
 * @returns {Step | null}
 */
export function nextStep({ duration_s, open }, records) {
  const peak_rps = peakOf(records)
  const steps = [
    { driver: 'autocannon', loop: /** @type {const} */ ('closed'), rate_rps: null, ...PEAK },
    ...SHARES.map((share) => ({
      driver: 'paced',
      loop: /** @type {const} */ ('open'),
      rate_rps: Math.max(1, Math.round(peak_rps * share)),
      connections: open,
      ...(share < 1 ? HALF : { warmup_s: 0.5, duration_s }),
    })),
  ]
  for (const [i, load] of steps.entries()) {
    const experiment = i === 0 ? 'peak' : `${SHARES[i - 1]}x/${i}`
    const trials = records.filter((record) => record.experiment === experiment)
    const left_s = steps.slice(i).reduce((sum, step) => sum + step.warmup_s + step.duration_s, 0)
    if (nextRung([load], trials)) return { experiment, cell: null, left_s, load }
    if (i === 0 && peak_rps === 0) return null
  }
  return null
}

/** @param {Records} records */
function peakOf(records) {
  const peak = records.find(({ experiment, outcome }) => experiment === 'peak' && outcome.verdict !== 'invalid')
  return peak?.traffic.goodput_rps ?? 0
}

/** @param {Records} records */
function problemOf(records) {
  const invalid = records.filter(({ outcome }) => outcome.verdict === 'invalid').length
  const wanted = SHARES.length + 1
  return records.length - invalid === wanted ? null : `${records.length - invalid} of ${wanted} loads had a valid trial`
}

/** @param {Records} records */
export function overloadTable(records) {
  const peak_rps = peakOf(records)
  const head = [
    'load',
    'offered',
    'goodput/s',
    'of the peak',
    'accepted p50',
    'p99',
    '503',
    'errors',
    'API core',
    'RSS',
  ]
  const rows = records.map(({ experiment, load, traffic, probes }) => [
    experiment.split('/')[0],
    offered(load),
    count(Math.round(traffic.goodput_rps)),
    `${Math.round((traffic.goodput_rps / peak_rps) * 100)} %`,
    milliseconds(traffic.ok_latency_ms?.p50),
    milliseconds(traffic.ok_latency_ms?.p99),
    count(traffic.status[503] ?? 0),
    Object.entries(traffic.errors)
      .map(([key, number]) => `${count(number)} × ${key}`)
      .join(', ') || '0',
    probes.api.cpu_core_ratio === undefined ? NONE : `${Math.round(probes.api.cpu_core_ratio * 100)} %`,
    probes.api.rss_bytes === undefined ? NONE : `${Math.round(probes.api.rss_bytes / 2 ** 20)} MiB`,
  ])
  return markdownTable([head, ...rows], { align: ['l', ...head.slice(1).map(() => 'r')] })
}

/** @param {any} run @param {Records} records */
function report(run, records) {
  return `${[
    `# Redline overload: ${run.run_id}`,
    ...(run.problem ? [`No trustworthy answer: ${run.problem}.`] : []),
    overloadTable(records),
    `Open loop over ${run.plan.open} connections: latency counts from the intended send time, so it grows without bound where the service neither serves nor refuses all that is offered. Half a load begins 2 s after the overload before it.`,
    ...[settingsLine(records)].filter(Boolean),
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** @param {any} run @param {Records} records */
function sentence({ problem }, records) {
  const peak_rps = peakOf(records)
  const left = records.flatMap(({ experiment, load, traffic, outcome }) => {
    const isOver = outcome.verdict !== 'invalid' && Number(load.rate_rps) > peak_rps
    const share = Math.round((traffic.goodput_rps / peak_rps) * 100)
    return isOver ? [`${share} % of the peak at ${experiment.split('/')[0]} of it`] : []
  })
  const found = `In a closed loop ${count(Math.round(peak_rps))}/s; what is left in an overload: ${left.join(', ') || 'not measured'}.`
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${found}`
}

/** @param {any} _ @param {Records} records @returns {Picture[]} */
function pictures(_, records) {
  const open = records.filter(({ experiment, outcome }) => experiment !== 'peak' && outcome.verdict !== 'invalid')
  if (open.length === 0) return []
  const rates = (/** @type {(record: Records[0]) => number} */ value) =>
    open.map((record) => ({ value: value(record) }))
  return [
    {
      name: 'goodput',
      title: 'What is left in an overload',
      about:
        'What was offered and what succeeded, load by load, in the order in which they came; the upright line is the peak of the closed loop.',
      form: {
        kind: 'dots',
        x: { title: 'per second', unit: 'rate', min: 0 },
        labels: open.map(({ experiment }, i) => `${i + 1}: ${experiment.split('/')[0]} of the peak`),
        series: [
          { name: 'offered', values: rates(({ load }) => Number(load.rate_rps)) },
          { name: 'succeeded', values: rates(({ traffic }) => traffic.goodput_rps) },
        ],
        reference: peakOf(records),
      },
    },
  ]
}
