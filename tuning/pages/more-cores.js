import { list, paragraph, table } from '../../load/report/blocks.js'
import { cellName, count, milliseconds, NONE, percent } from '../../load/report/format.js'
import { ratioText } from '../stats/effects.js'

/**
 * @import { TuneFindings } from '../experiments/tune/findings.js'
 * @import { Evidence } from './evidence.js'
 * @import { NotAppliedCell } from '../../load/report/record.js'
 */

/** Numbers of API processes. */
const STEPS = [1, 2, 4, 8]

/** Connections that Postgres keeps for its superusers (superuser_reserved_connections), since version 7.3. */
const RESERVED = 3

/**
 * PgBouncer's pool against the API's, from a run of `tune --preset pgbouncer`.
 *
 * @param {{ findings: Pick<TuneFindings, 'cells' | 'anchor'> } & Pick<Evidence, 'run' | 'records'>} evidence
 */
export function pgbouncerBlocks({ findings: { cells, anchor }, run, records }) {
  const rows = cells.map(({ cell, is_anchor, is_measured, success_ratio, ok_p99_ms, goodput_rps, ratios, cpu_us }) => {
    const { INSERT_MODE, POOL_MAX, PGBOUNCER_POOL } = cell
    const settings = [INSERT_MODE, POOL_MAX, PGBOUNCER_POOL === 0 ? 'none' : PGBOUNCER_POOL].map(String)
    if (!is_measured) return [...settings, 'not applied', ...Array(4).fill(NONE)]
    return [
      ...settings,
      Number.isNaN(success_ratio.at) ? NONE : percent(success_ratio.at),
      milliseconds(ok_p99_ms),
      Number.isNaN(goodput_rps) ? NONE : `${count(Math.round(goodput_rps))}/s`,
      is_anchor ? '1' : ratioText(ratios.goodput),
      Number.isNaN(cpu_us) ? NONE : cpu_us.toFixed(1),
    ]
  })
  const head = ['INSERT_MODE', 'POOL_MAX', "PgBouncer's pool", 'success at 1x', 'p99 of the successes at 1x']
  const others = ['durable rows at 1.5x', 'by the first line', 'CPU us of the API each, at 0.5x']
  const version = records.find(({ settings }) => settings.PGBOUNCER)?.settings.PGBOUNCER ?? 'none'
  const about = `PgBouncer ${version} in transaction mode, a database ${anchor.DB_DELAY_MS} ms away, one API process. Offered: shares of what the first line takes.`
  const reasons = run.not_applied.map((/** @type {NotAppliedCell} */ { cell, because }) => {
    return `Not applied: ${cellName(cell)}: ${because}`
  })
  return [paragraph(about), table([...head, ...others], rows), ...(reasons.length > 0 ? [list(reasons)] : [])]
}

/**
 * What a multiple of each measured capacity would take, if nothing but cores counted, and how many pools a Postgres has room for.
 *
 * @param {Pick<Evidence, 'run' | 'records'>[]} sweeps
 */
export function arithmeticBlocks(sweeps) {
  const [first] = sweeps[0].records
  const max = Number(first.probes.postgres.connections_max)
  const { POOL_MAX } = first.settings
  const most = Math.floor((max - RESERVED) / Number(POOL_MAX))
  const fits = `Of this Postgres' ${max} connections ${RESERVED} are kept for its superuser: ${most} pools of ${POOL_MAX} fit. PgBouncer has room for more; a smaller POOL_MAX is enough where requests share statements and Postgres is near (BATCH_SLOTS).`
  return [...sweeps.flatMap(arithmetic), paragraph(fits)]
}

/** @param {Pick<Evidence, 'run' | 'records'>} sweep */
function arithmetic({ run: { capacity }, records }) {
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
    ...[api, postgres, generator].map(({ cpu_core_ratio }) => (times * Number(cpu_core_ratio)).toFixed(1)),
    count(times * Number(POOL_MAX)),
  ])
  const used = ['API', 'Postgres', 'generators'].map((who) => `cores busy with ${who}`)
  const about = `Arithmetic, not a measurement: what one process took with INSERT_MODE=${INSERT_MODE}, ${count(rate_rps)}/s, times a number.`
  return [paragraph(about), table(['rows', 'API processes', ...used, 'connections to Postgres, at most'], rows)]
}
