import { count, NONE } from '../../../load/report/format.js'
import { settingsLine, whereAndWhen } from '../../../load/run/old.js'
import { ratioText } from '../../stats/effects.js'
import { median } from '../../stats/ranks.js'
import { table } from '../../stats/spread.js'
import { CLAIMS } from './claims.js'
import { MEASURES } from './measures.js'
import { cellsOf, experimentOf } from './steps.js'
import { resultOf } from './verdict.js'

/**
 * @import { Claim } from './claims.js'
 * @import { Records } from './steps.js'
 */

/** What has to come of a claim, in a word. */
const EXPECTED = { more: '≥', less: '≤', same: 'within' }

/**
 * Claims with what was measured, a row each.
 *
 * @param {Claim[]} claims
 * @param {Records} records
 */
export function claimsTable(claims, records) {
  const rows = claims.map((claim) => {
    const { effect, values, verdict } = resultOf(claim, records)
    const [reference, other] = cellsOf(claim.experiment)
    const [before, after] = values.map((own) => figure(median(own), MEASURES[claim.measure].decimals))
    return [
      `${claim.sentence} (${claim.id})`,
      `${difference(reference, other)} -> ${difference(other, reference)}`,
      MEASURES[claim.measure].title,
      `${before} -> ${after}`,
      ratioText(effect),
      expectedText(claim),
      `**${verdict}**`,
    ]
  })
  return table(['claim', 'knob', 'measure', 'median', 'ratio [95 % interval]', 'claimed', 'verdict'], rows)
}

/**
 * The same in three columns.
 *
 * @param {Claim[]} claims
 * @param {Records} records
 */
export function summaryTable(claims, records) {
  const rows = claims.map((claim) => {
    const { effect, verdict } = resultOf(claim, records)
    return [claim.sentence, `${MEASURES[claim.measure].title.split(',')[0]} ${ratioText(effect)}`, verdict]
  })
  return table(['claim', 'effect [95 % interval]', 'here'], rows)
}

/** "27 claims: 25 reproduced, 2 undecided" @param {Records} records @param {Claim[]} [claims] */
export function verdictsText(records, claims = CLAIMS) {
  const verdicts = claims.map((claim) => resultOf(claim, records).verdict)
  const kinds = /** @type {const} */ (['reproduced', 'refuted', 'undecided', 'not measured'])
  const parts = kinds.flatMap((kind) => {
    const number = verdicts.filter((verdict) => verdict === kind).length
    return number > 0 ? [`${number} ${kind}`] : []
  })
  return `${claims.length} ${claims.length === 1 ? 'claim' : 'claims'}: ${parts.join(', ')}.`
}

/**
 * The pool, and what Little's law says of it: connections by the time a statement holds one.
 *
 * @param {Records} records
 */
export function littleTable(records) {
  const rows = ['pool-here', 'pool-near', 'pool-far'].flatMap((name) =>
    cellsOf(name).flatMap((cell) => {
      const own = records.filter((record) => experimentOf(record) === name && record.cell === cell)
      const valid = own.filter(({ outcome }) => outcome.verdict !== 'invalid')
      if (valid.length === 0) return []
      const held_ms = median(valid.map(({ probes }) => probes.api.statement_mean_ms ?? Number.NaN))
      const goodput_rps = median(valid.map(({ traffic }) => traffic.goodput_rps))
      const { DB_DELAY_MS, POOL_MAX } = valid[0].settings
      const predicted_rps = (1000 * Number(POOL_MAX)) / held_ms
      return [
        [
          `${DB_DELAY_MS} ms`,
          String(POOL_MAX),
          `${held_ms.toFixed(2)} ms`,
          `${figure(predicted_rps, 0)}/s`,
          `${figure(goodput_rps, 0)}/s`,
          (goodput_rps / predicted_rps).toFixed(2),
        ],
      ]
    }),
  )
  const head = [
    'database away',
    'pool',
    'a statement holds a connection',
    'pool / time',
    'measured',
    'measured / predicted',
  ]
  return table(head, rows)
}

/**
 * report.md of a playbook run.
 *
 * @param {any} run
 * @param {Records} records
 */
export function playbookReport(run, records) {
  const claims = CLAIMS.filter(({ id }) => run.plan.claims.includes(id))
  const notApplied = (run.not_applied ?? []).map((/** @type {any} */ { cell, because }) => `- ${cell}: ${because}`)
  return `${[
    `# Redline playbook: ${run.run_id}`,
    ...(run.problem ? [`No trustworthy answer: ${run.problem}.`] : []),
    verdictsText(records, claims),
    claimsTable(claims, records),
    ...(notApplied.length > 0 ? ['Not applied:', notApplied.join('\n')] : []),
    '## How it was measured',
    [
      `- Each experiment: two cells in ${run.plan.blocks} blocks, the order drawn for each; ratios within a block; the typical ratio and its interval by ranks (Hodges-Lehmann, Wilcoxon's signed ranks).`,
      '- Reproduced: the interval leaves 1 on the side that was claimed, and the ratio is an effect of interest. `within`: the whole interval has to lie inside. Refuted: the whole interval is against it.',
      ...(run.pinning ? [`- ${run.pinning}`] : []),
      ...[settingsLine(records)].filter(Boolean),
    ].join('\n'),
    '## Where',
    whereAndWhen(run),
  ].join('\n\n')}\n`
}

/** @param {Claim} claim */
function expectedText({ expect, least_ratio }) {
  if (expect === 'same') return `within ${(1 / least_ratio).toFixed(2)}–${least_ratio}x`
  return `${EXPECTED[expect]} ${expect === 'more' ? least_ratio : +(1 / least_ratio).toFixed(3)}x`
}

/** What one cell has that the other has not. @param {string} cell @param {string} other */
function difference(cell, other) {
  const others = other.split(' ')
  return (
    cell
      .split(' ')
      .filter((part) => !others.includes(part))
      .join(' ') || 'default'
  )
}

/** @param {number} value @param {number} decimals */
function figure(value, decimals) {
  return Number.isNaN(value) ? NONE : count(Number(value.toFixed(decimals)))
}
