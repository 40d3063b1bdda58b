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
  const most = Math.floor((max - RESERVED) / Number(POOL_MAX))
  const fits = `This Postgres allows ${max} connections and reserves ${RESERVED} for superusers, so ${most} pools of ${POOL_MAX} fit. For more processes, use PgBouncer, or a smaller POOL_MAX: with INSERT_MODE=batched and a database nearby, a POOL_MAX equal to BATCH_SLOTS (4 by default) is usually enough.`
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
  const about = `Calculated, not measured: what one process sustained with INSERT_MODE=${INSERT_MODE}, ${count(rate_rps)}/s, times the number of processes. The capacity of a process is an interval; of the rates up to the interval's lower end, the highest that passed a trial is used here. The CPU columns are averages over one trial at that rate, so they can differ from the medians on other pages. Although a process uses less than a core here, give each a core of its own: at the rate at which the service fails, that core is busier than shown here.`
  return [paragraph(about), table(['rows', 'API processes', ...used, 'connections to Postgres, at most'], rows)]
}
