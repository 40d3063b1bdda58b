import { paragraph, table } from '../../load/report/blocks.js'
import { count } from '../../load/report/format.js'

/** @import { Evidence } from './evidence/evidence.js' */

/** Numbers of API processes. */
const STEPS = [1, 2, 4, 8]

/** Connections that Postgres keeps for its superusers (superuser_reserved_connections), since version 7.3. */
const RESERVED = 3

/**
 * Resources for a multiple of each measured capacity if only cores counted, and the number of pools that a Postgres has room for.
 * @param {Pick<Evidence, 'run' | 'records'>[]} sweeps
 */
export function arithmeticBlocks(sweeps) {
  const [{ settings, probes }] = sweeps[0].records
  const [max, POOL_MAX] = [Number(probes.postgres.connections_max), settings.POOL_MAX]
  const most = Math.floor((max - RESERVED) / connections(settings))
  const fits = `The connections are those of the pool (POOL_MAX=${POOL_MAX}) and one with which /readyz checks the database. This Postgres allows ${max} connections and reserves ${RESERVED} for superusers, so ${most} such processes fit. For more processes, use PgBouncer, or a smaller POOL_MAX: with INSERT_MODE=batched and a database nearby, a POOL_MAX equal to BATCH_SLOTS (4 by default) is usually enough.`
  const whole =
    'The tables show less than a core per process. Give each process a whole core all the same: near its limit, it uses more.'
  return [...sweeps.flatMap(arithmetic), paragraph(whole), paragraph(fits)]
}

/** Sessions that one API process may have: its pool, and the one with which /readyz checks the database (api/readiness.js). */
const connections = (/** @type {Evidence['records'][number]['settings']} */ { POOL_MAX }) => Number(POOL_MAX) + 1

/** @param {Pick<Evidence, 'run' | 'records'>} sweep */
function arithmetic({ records }) {
  const passed = records.filter(({ outcome, load }) => outcome.verdict === 'pass' && load.loop === 'open')
  const longest_s = Math.max(...passed.map(({ load }) => load.duration_s))
  const sustained = passed.filter(({ load }) => load.duration_s === longest_s)
  const best = sustained.reduce((most, one) => (Number(one.load.rate_rps) >= Number(most.load.rate_rps) ? one : most))
  const { api, postgres, generator } = best.probes
  const rate_rps = Number(best.load.rate_rps)
  const { INSERT_MODE } = best.settings
  const rows = STEPS.map((times) => [
    `${count(times * rate_rps)}/s`,
    String(times),
    ...[api, postgres, generator].map(({ cpu_core_ratio }) => (times * Number(cpu_core_ratio)).toFixed(1)),
    count(times * connections(best.settings)),
  ])
  const used = ['API', 'Postgres', 'generators'].map((who) => `cores busy with ${who}`)
  const about = `Calculated, not measured: the rate that one process sustained for ${longest_s} s with INSERT_MODE=${INSERT_MODE}, ${count(rate_rps)}/s, times the number of processes. The CPU columns are averages over that trial, so they can differ from the medians on other pages.`
  return [paragraph(about), table(['rows', 'API processes', ...used, 'connections to Postgres, at most'], rows)]
}
