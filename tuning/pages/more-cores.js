import { count, milliseconds, NONE, percent } from '../../load/report/format.js'
import { blockTrials, observationsOf, RESPONSES } from '../experiments/tune/observations.js'
import { levelsOf } from '../stats/design.js'
import { noiseOf, ratioOf, ratioText } from '../stats/effects.js'
import { median } from '../stats/ranks.js'
import { table } from '../stats/spread.js'

/**
 * @import { NotAppliedCell } from '../../load/run/experiment.js'
 * @import { TrialRecord } from '../../load/run/trial.js'
 */

/** @typedef {TrialRecord[]} Records */

/** So many processes of the API. */
const STEPS = [1, 2, 4, 8]

/** Connections that Postgres keeps for its superusers (superuser_reserved_connections), since version 7.3. */
const RESERVED = 3

/**
 * PgBouncer's pool against the API's, from a run of `tune --preset pgbouncer`.
 *
 * @param {{ plan: any, not_applied?: NotAppliedCell[] }} run
 * @param {Records} records
 * @returns {string}
 */
export function pgbouncerTable({ plan, not_applied = [] }, records) {
  const goodput = observationsOf(RESPONSES.goodput, records)
  const noise = noiseOf(goodput)
  const rows = plan.cells.map((/** @type {string} */ cell) => {
    const { INSERT_MODE, POOL_MAX, PGBOUNCER_POOL } = levelsOf(cell)
    const settings = [INSERT_MODE, POOL_MAX, PGBOUNCER_POOL === '0' ? 'none' : PGBOUNCER_POOL]
    const refused = not_applied.find((one) => one.cell === cell)
    if (refused) return [...settings, 'not applied', ...Array(4).fill(NONE)]
    const of = (/** @type {string} */ kind) => blockTrials(records, kind).filter((record) => record.cell === cell)
    const [below, at, above] = [of('below'), of('at'), of('above')]
    const p99_ms = median(at.map(({ traffic }) => traffic.ok_latency_ms?.p99 ?? Number.NaN))
    return [
      ...settings,
      at.length > 0 ? percent(median(at.map(({ traffic }) => traffic.success_ratio))) : NONE,
      milliseconds(p99_ms),
      above.length > 0 ? `${count(Math.round(median(above.map(RESPONSES.goodput.value))))}/s` : NONE,
      cell === plan.anchor ? '1' : ratioText(ratioOf(goodput, cell, plan.anchor, noise)),
      figure(median(below.map((record) => RESPONSES.cpu.value(record) ?? Number.NaN))),
    ]
  })
  const [of1, of15] = ['at 1x', 'at 1.5x']
  const head = [
    'INSERT_MODE',
    'POOL_MAX',
    "PgBouncer's pool",
    `success ${of1}`,
    `p99 of the successes ${of1}`,
    `durable rows ${of15}`,
    'by the first line',
    'CPU us of the API each, at 0.5x',
  ]
  const version = records.find(({ settings }) => settings.PGBOUNCER)?.settings.PGBOUNCER ?? 'none'
  const delay = levelsOf(plan.anchor).DB_DELAY_MS
  const about = `PgBouncer ${version} in transaction mode, a database ${delay} ms away, one API process. Offered: shares of what the first line takes.`
  const reasons = not_applied.map(({ cell, because }) => `- Not applied: ${cell}: ${because}`)
  return [about, table(head, rows), reasons.join('\n')].filter(Boolean).join('\n\n')
}

/** What a multiple of a measured capacity would take, if nothing but cores counted. @param {{ run: any, records: Records }[]} sweeps */
export function arithmeticText(sweeps) {
  const tables = sweeps.map(({ run, records }) => arithmeticTable(run, records))
  return [...tables, poolsThatFit(sweeps[0].records)].join('\n\n')
}

/** @param {{ capacity: { low_rps: number } }} run of a sweep @param {Records} records */
export function arithmeticTable({ capacity }, records) {
  const passed = records.filter(({ outcome, load }) => {
    return outcome.verdict === 'pass' && load.loop === 'open' && Number(load.rate_rps) <= capacity.low_rps
  })
  const best = passed.reduce((most, one) => (Number(one.load.rate_rps) >= Number(most.load.rate_rps) ? one : most))
  const { api, postgres, generator } = best.probes
  const rate_rps = Number(best.load.rate_rps)
  const { INSERT_MODE, POOL_MAX } = best.settings
  const rows = STEPS.map((times) => [
    `${count(times * rate_rps)}/s`,
    String(times),
    ...[api, postgres, generator].map(({ cpu_core_ratio }) => (times * cpu_core_ratio).toFixed(1)),
    count(times * Number(POOL_MAX)),
  ])
  const used = ['API', 'Postgres', 'generators'].map((who) => `cores busy with ${who}`)
  const about = `Arithmetic, not a measurement: what one process took with INSERT_MODE=${INSERT_MODE}, ${count(rate_rps)}/s, times a number.`
  return [about, table(['rows', 'API processes', ...used, 'connections to Postgres, at most'], rows)].join('\n\n')
}

/** How many pools one Postgres has room for. @param {Records} records of a sweep */
function poolsThatFit([first]) {
  const max = Number(first.probes.postgres.connections_max)
  const most = Math.floor((max - RESERVED) / Number(first.settings.POOL_MAX))
  return `Of this Postgres' ${max} connections ${RESERVED} are kept for its superuser: ${most} pools of ${first.settings.POOL_MAX} fit. PgBouncer has room for more; a smaller POOL_MAX is enough where requests share statements (BATCH_SLOTS).`
}

/** @param {number} value */
function figure(value) {
  return Number.isNaN(value) ? NONE : value.toFixed(1)
}
