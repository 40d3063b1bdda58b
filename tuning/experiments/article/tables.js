import { count, milliseconds, NONE, percent } from '../../../load/report/format.js'
import { whereAndWhen } from '../../../load/run/old.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { conclusionsOf } from './conclusions.js'
import { GENERATORS, offeredHere, PUBLISHED, peakOf, trialsOf } from './steps.js'

/** @import { Records } from './steps.js' */

const HEAD = [
  'row',
  'offered',
  'pool',
  'timeout ms',
  'nofile',
  'achieved/s',
  'success',
  'mean',
  'p99',
  'max',
  'min',
  '201',
  '5xx',
  'code 0',
]

/**
 * What was found, for the terminal and the report's top: published beside measured, and a verdict on each conclusion.
 *
 * @param {any} run
 * @param {Records} records
 */
export function articleText(run, records) {
  const problem = run.problem ? [`**No trustworthy answer: ${run.problem}.**`] : []
  const peak_rps = peakOf(records)
  if (peak_rps === null) return problem.join('\n')
  return [...problem, conclusionsTable(records), rowsTable(records, peak_rps), scaleText(run.plan, peak_rps)].join(
    '\n\n',
  )
}

/** @param {any} run @param {Records} records */
export function articleReport(run, records) {
  return `${[
    `# Redline tune, the article's cells: ${run.run_id}`,
    articleText(run, records),
    '## How it was measured',
    [
      `- ${run.plan.blocks} blocks, each with every row by both generators in an order of its own; ${run.plan.duration_s} s a trial. Figures are medians over the blocks. Ratios are taken within a block; their 95 % intervals go by ranks (Hodges-Lehmann, Wilcoxon's signed ranks).`,
      "- `defaults`: vegeta with its own defaults, as in the article; a trial that it spoilt itself is shown all the same. `bounded`: Redline's open loop over a fixed set of connections; latency counts from the intended send time.",
      '- Code 0: requests that ended without an answer, on whichever side. What the article calls 500 is a 503 here.',
      ...(run.pinning ? [`- ${run.pinning}`] : []),
    ].join('\n'),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** @param {Records} records */
export function conclusionsTable(records) {
  const rows = conclusionsOf(records).map(({ published, by, verdict, evidence }) => [
    published,
    by,
    `**${verdict}**`,
    evidence.join('; ') || NONE,
  ])
  return table(['published', 'by', 'here', 'evidence'], rows)
}

/** @param {Records} records @param {number} peak_rps */
export function rowsTable(records, peak_rps) {
  const rows = PUBLISHED.rows.flatMap((/** @type {any} */ published, /** @type {number} */ row) => [
    publishedRow(published, row),
    ...GENERATORS.map((generator) => {
      const name = generator === 'paced' ? 'bounded' : 'defaults'
      return measuredRow(`${row + 1} ${name}`, published, trialsOf(records, row, generator), offeredHere(row, peak_rps))
    }),
  ])
  return table(HEAD, rows)
}

/** @param {any} plan @param {number} peak_rps */
export function scaleText(plan, peak_rps) {
  return `Rates are scaled: the article's design takes ${count(Math.round(peak_rps))}/s here in a closed loop, where the article found ${count(PUBLISHED.capacity_rps)}/s; each row offers the same share. ${plan.blocks} blocks, trials of ${plan.duration_s} s (published: 30 s, once).`
}

/** @param {any} published @param {number} row */
function publishedRow(published, row) {
  const number = (/** @type {number | undefined} */ value) => (value === undefined ? NONE : count(value))
  return [
    `${row + 1} published`,
    ...settingsOf(published, published.offered_rps),
    number(published.achieved_rps === undefined ? undefined : Math.round(published.achieved_rps)),
    percent(published.success_ratio),
    ...[published.mean_ms, published.p99_ms, published.max_ms, published.min_ms].map(milliseconds),
    number(published.created),
    number(published.server_errors),
    number(published.code_0),
  ]
}

/** @param {string} name @param {any} published @param {Records} trials @param {number} offered_rps */
function measuredRow(name, published, trials, offered_rps) {
  const settings = settingsOf(published, offered_rps)
  if (trials.length === 0) return [name, ...settings, ...Array(HEAD.length - settings.length - 1).fill(NONE)]
  const of = (/** @type {(traffic: Records[number]['traffic']) => number | undefined} */ value) => {
    return median(trials.map(({ traffic }) => value(traffic) ?? Number.NaN))
  }
  const sum = (/** @type {Record<string, number>} */ counts, /** @type {RegExp} */ pattern) => {
    return Object.entries(counts).reduce((total, [key, number]) => (pattern.test(key) ? total + number : total), 0)
  }
  return [
    name,
    ...settings,
    count(Math.round(of(({ achieved_rps }) => achieved_rps))),
    percent(of(({ success_ratio }) => success_ratio)),
    ...['mean', 'p99', 'max', 'min'].map((key) =>
      milliseconds(of(({ latency_ms }) => latency_ms?.[/** @type {'mean'} */ (key)])),
    ),
    count(Math.round(of(({ status }) => status[201] ?? 0))),
    count(Math.round(of(({ status }) => sum(status, /^5/)))),
    count(Math.round(of(({ errors }) => sum(errors, /^/)))),
  ]
}

/** @param {any} published @param {number} offered_rps */
function settingsOf({ pool_max, connect_timeout_ms, nofile }, offered_rps) {
  return [count(offered_rps), String(pool_max), String(connect_timeout_ms), String(nofile)]
}
