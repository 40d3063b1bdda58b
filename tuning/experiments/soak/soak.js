import { markdownTable } from 'markdown-table'
import { isValid, nextRung } from '../../../load/capacity/ladder.js'
import { duration, helpText, wholeNumber } from '../../../load/command/flags.js'
import { count, milliseconds } from '../../../load/report/format.js'
import { runOld, settingsLine, whereAndWhen } from '../../../load/run/old.js'
import { openRun, RUN_FLAGS } from '../../../load/run/open-run.js'
import { localPlan } from '../../../load/run/plan.js'

/**
 * @import { Picture } from '../../../load/report/picture.js'
 * @import { Report } from '../../../load/report/old/write.js'
 * @import { Plan, Step } from '../../../load/run/experiment.js'
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Verb } from '../../../load/run/shell.js'
 */

const DEFAULTS = { duration: 30 * 60_000, rate: 2000, connections: 64, seed: 1 }
const TIMEOUT_S = 10

/** The load is cut into trials, each a sample. Those of the first fifth are the start, and no part of the slope. */
const SAMPLE_S = 30
const MIN_SAMPLES = 3
const START_SHARE = 0.2

/** A line through fewer says nothing. */
const MIN_STEADY_SAMPLES = 4
const SECONDS_PER_HOUR = 3600

const FLAGS = {
  duration: {
    value: 'TIME',
    about: `of the whole load (default ${DEFAULTS.duration / 60_000}m)`,
    parse: duration,
    expected: 'a time such as 30s, 10m or 90m',
  },
  rate: { value: 'N', about: `requests/s, open loop (default ${DEFAULTS.rate})`, ...wholeNumber(1, 100_000) },
  connections: { value: 'N', about: `connections (default ${DEFAULTS.connections})`, ...wholeNumber(1, 10_000) },
  ...RUN_FLAGS,
}

const EXAMPLES = `  npm run soak                      half an hour
  npm run soak -- --duration 5m --rate 5000`

/** @type {Report} */
const REPORT = { markdown: report, sentence, pictures }

/**
 * `npm run soak`: does anything grow that should not? Memory and open files under a steady load, and their slope.
 *
 * @type {Verb}
 */
export const soak = {
  about: 'does memory or the number of open files grow under a steady load?',
  report: REPORT,
  help: helpText('npm run soak -- [flags]\n\nDo memory or open files grow under a steady load?', FLAGS, EXAMPLES),

  async run(argv, io) {
    const { results, run, plan, json, databaseUrl } = openRun('soak', FLAGS, argv, planOf)
    const next = (/** @type {Records} */ records) => nextStep(plan, records)
    const answer = (/** @type {Records} */ records) => ({
      capacity: null,
      limit: null,
      problem: problemOf(plan, records),
    })
    const ended = await runOld({ run, plan, results, databaseUrl, next, answer, report: REPORT }, io)
    const text = [soakTable(ended.records), slopes(ended.records)].join('\n\n')
    return { ...ended, text, folder: results.folder, json }
  },
}

/** @typedef {TrialRecord[]} Records */

/** @typedef {Plan & { samples: number }} SoakPlan */

/** @param {Record<string, any>} flags @returns {SoakPlan} */
function planOf(flags) {
  const { duration: duration_ms, rate, connections, seed } = { ...DEFAULTS, ...flags }
  const samples = Math.max(MIN_SAMPLES, Math.round(duration_ms / 1000 / SAMPLE_S))
  const plan = localPlan({ seed, duration_s: duration_ms / 1000 / samples, timeout_s: TIMEOUT_S })
  return { ...plan, rates_rps: [rate], connections: [connections], samples }
}

/** @param {SoakPlan} plan @param {Records} records @returns {Step | null} */
function nextStep({ duration_s, rates_rps, connections: [connections], samples }, records) {
  const rung = { rate_rps: rates_rps?.[0] ?? 1, connections }
  if (!nextRung(Array(samples).fill(rung), records)) return null
  const load = { driver: 'paced', loop: /** @type {const} */ ('open'), warmup_s: 0, duration_s, ...rung }
  return { experiment: 'soak', cell: null, left_s: (samples - records.length) * duration_s, load }
}

/** @param {SoakPlan} plan @param {Records} records */
function problemOf({ samples }, records) {
  const bad = records.find(({ outcome }) => outcome.verdict === 'fail')
  if (bad) return `trial ${bad.trial} was no success: ${bad.outcome.because}`
  const taken = records.filter(isValid).length
  return taken < samples ? `${taken} of ${samples} samples were taken` : null
}

/**
 * Least squares through what follows the start.
 *
 * @param {{ at_s: number, value: number }[]} samples
 * @returns {number | null} per second; null: too few
 */
export function slopeOf(samples) {
  const steady = samples.slice(Math.floor(samples.length * START_SHARE))
  if (steady.length < MIN_STEADY_SAMPLES) return null
  const mean = (/** @type {number[]} */ values) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [at, value] = [mean(steady.map((sample) => sample.at_s)), mean(steady.map((sample) => sample.value))]
  const above = steady.reduce((sum, sample) => sum + (sample.at_s - at) * (sample.value - value), 0)
  const below = steady.reduce((sum, sample) => sum + (sample.at_s - at) ** 2, 0)
  return below === 0 ? null : above / below
}

/** @param {Records} records */
function slopes(records) {
  if (records.length === 0) return '- Nothing was measured.'
  const lines = [
    slopeLine('Memory (RSS)', records, ({ probes }) => Number(probes.api.rss_bytes) / 2 ** 20, 'MiB'),
    slopeLine('Open files', records, ({ probes }) => Number(probes.api.open_files), ''),
  ]
  return lines.join('\n')
}

/** @param {string} name @param {Records} records @param {(record: Records[0]) => number} value @param {string} unit */
function slopeLine(name, records, value, unit) {
  // A run that was resumed has a new process, which starts from below.
  const own = records.filter(({ target }) => target.pid === records.at(-1)?.target.pid)
  const samples = own.map((record) => ({ at_s: Date.parse(record.started_at) / 1000, value: value(record) }))
  const slope = slopeOf(samples)
  const values = samples.map((sample) => Math.round(sample.value))
  const range = `${Math.min(...values)} to ${Math.max(...values)}${unit && ` ${unit}`}`
  const text =
    slope === null ? 'too few samples for a slope' : `${(slope * SECONDS_PER_HOUR).toFixed(1)} ${unit} per hour`
  return `- ${name}: ${range}, ${text.replace('  ', ' ')}`
}

/** @param {Records} records */
function soakTable(records) {
  const head = ['sample', 'answered', 'p50', 'p99', 'API core', 'RSS', 'open files']
  const rows = records.map(({ trial, traffic, probes }) => [
    String(trial),
    count(traffic.completed),
    milliseconds(traffic.latency_ms?.p50),
    milliseconds(traffic.latency_ms?.p99),
    `${Math.round(Number(probes.api.cpu_core_ratio) * 100)} %`,
    `${Math.round(Number(probes.api.rss_bytes) / 2 ** 20)} MiB`,
    String(probes.api.open_files),
  ])
  return markdownTable([head, ...rows], { align: head.map(() => 'r') })
}

/** @param {any} run @param {Records} records */
function report(run, records) {
  return `${[
    `# Redline soak: ${run.run_id}`,
    ...(run.problem ? [`No trustworthy answer: ${run.problem}.`] : []),
    slopes(records),
    soakTable(records),
    ...[settingsLine(records)].filter(Boolean),
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** @param {any} run @param {Records} records */
function sentence({ problem }, records) {
  if (records.length === 0) return 'Nothing was measured.'
  const found = slopes(records).replace(/^- /gm, '').split('\n').join('. ')
  return `${problem ? `No trustworthy answer: ${problem}. ` : ''}${found}.`
}

/** @param {any} _ @param {Records} records @returns {Picture[]} */
function pictures(_, records) {
  const start_ms = Date.parse(records[0]?.started_at)
  const points = (/** @type {(record: Records[0]) => number} */ value) =>
    records.map(
      (record) => /** @type {[number, number]} */ ([(Date.parse(record.started_at) - start_ms) / 1000, value(record)]),
    )
  const x = { title: 'seconds since the start', unit: /** @type {const} */ ('s') }
  const memory = points(({ probes }) => Number(probes.api.rss_bytes) / 2 ** 20)
  const files = points(({ probes }) => Number(probes.api.open_files))
  if (records.length === 0) return []
  return [
    {
      name: 'memory',
      title: 'Memory over time',
      about: 'Memory of the service (RSS) at the end of each sample.',
      form: {
        kind: 'xy',
        x,
        y: { title: 'RSS', unit: 'mib' },
        series: [{ name: 'memory', points: memory, as: 'both' }],
      },
    },
    {
      name: 'files',
      title: 'Open files over time',
      about: 'Files and sockets that the service had open.',
      form: {
        kind: 'xy',
        x,
        y: { title: 'open files', unit: 'number' },
        series: [{ name: 'open files', points: files, as: 'both' }],
      },
    },
  ]
}
