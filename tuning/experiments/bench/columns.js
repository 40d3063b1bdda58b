import { count, milliseconds, NONE, wholePercent } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { spread } from '../../stats/spread.js'

/** @import { TrialRecord } from '../../../load/report/record.js' */

export const SATURATION_CONNECTIONS = 128
export const LOW_RATE_RPS = 2000
export const HIGH_RATE_RPS = 20_000
export const CROWD_CONNECTIONS = 1024
export const CROWD_LOW_RATE_RPS = 200

/**
 * A column of one of the tables. kind: of the trials; by: the values are ratios to this contender, within a block.
 *
 * @typedef {{ table: string, kind: string, head: string, value: (record: TrialRecord) => number, text: (values: number[]) => string,
 *   by?: string }} Column
 */

/** @type {Record<string, Column['value']>} */
const VALUES = {
  inserts: ({ traffic }) => traffic.goodput_rps,
  cpu: ({ probes }) => Number(probes.api.cpu_us_per_request),
  core: ({ probes }) => Number(probes.api.cpu_core_ratio),
  p50: ({ traffic }) => Number(traffic.latency_ms?.p50),
  p99: ({ traffic }) => Number(traffic.latency_ms?.p99),
  offered: ({ load }) => Number(load.rate_rps),
  clientCpu: (record) => Number(onServiceCore(record).cpu_us_per_request),
  clientCore: (record) => Number(onServiceCore(record).cpu_core_ratio),
  postgresCore: ({ probes }) => Number(probes.postgres.cpu_core_ratio),
}
const { inserts, cpu, core, p50, p99, offered, clientCpu, clientCore, postgresCore } = VALUES

/** The process on the service's core: the service or, without one, the client. @param {TrialRecord} record */
function onServiceCore({ target, probes }) {
  return target.pid === null ? probes.generator : probes.api
}

/** @param {number} digits */
const spreadTo = (digits) => (/** @type {number[]} */ values) => spread(values, digits)
/** @param {number[]} values */
const latency = (values) => milliseconds(median(values))
/** @param {number[]} values */
const rate = (values) => (values.length === 0 ? NONE : `${count(Math.round(median(values)))}/s`)
/** @param {number[]} values */
const share = (values) => wholePercent(median(values))

const CLOSED = { table: 'closed', kind: 'saturation' }
const LOW = { table: 'rates', kind: 'low' }
const HIGH = { table: 'rates', kind: 'high' }
const HALF = { table: 'half', kind: 'half' }
const DIRECT = { table: 'direct', kind: 'saturation' }
const FAR = { table: 'far', kind: 'saturation' }
const FAR_LOW = { table: 'far', kind: 'low' }
const AT_HIGH = `at ${count(HIGH_RATE_RPS)}/s`

/** After the first column, which is the server. @type {Column[]} */
export const COLUMNS = [
  { ...CLOSED, head: 'inserts/s', value: inserts, text: spreadTo(0) },
  { ...CLOSED, head: 'of batched', value: inserts, by: 'batched', text: spreadTo(2) },
  { ...CLOSED, head: 'CPU us each', value: cpu, text: spreadTo(1) },
  { ...CLOSED, head: 'x no-op', value: cpu, by: 'no-op', text: spreadTo(2) },
  { ...CLOSED, head: 'CPU of batched', value: cpu, by: 'batched', text: spreadTo(2) },
  { ...CLOSED, head: 'core', value: core, text: share },
  { ...LOW, head: 'p50', value: p50, text: latency },
  { ...LOW, head: 'CPU us each', value: cpu, text: spreadTo(0) },
  { ...LOW, head: 'x no-op', value: cpu, by: 'no-op', text: spreadTo(2) },
  { ...LOW, head: 'of batched', value: cpu, by: 'batched', text: spreadTo(2) },
  { ...HIGH, head: `${AT_HIGH}: CPU us each`, value: cpu, text: spreadTo(1) },
  { ...HIGH, head: `${AT_HIGH}: x no-op`, value: cpu, by: 'no-op', text: spreadTo(2) },
  { ...HALF, head: 'offered', value: offered, text: rate },
  { ...HALF, head: 'p50', value: p50, text: latency },
  { ...HALF, head: 'p99', value: p99, text: latency },
  { ...FAR, head: 'inserts/s', value: inserts, text: spreadTo(0) },
  { ...FAR, head: 'of rtt-0', value: inserts, by: 'rtt-0', text: spreadTo(2) },
  { ...FAR, head: 'CPU us each', value: cpu, text: spreadTo(1) },
  { ...FAR, head: 'core', value: core, text: share },
  { ...FAR_LOW, head: `p50 at ${CROWD_LOW_RATE_RPS}/s`, value: p50, text: latency },
  { ...FAR_LOW, head: `p99 at ${CROWD_LOW_RATE_RPS}/s`, value: p99, text: latency },
  { ...DIRECT, head: 'rows/s', value: inserts, text: spreadTo(0) },
  { ...DIRECT, head: 'of batched', value: inserts, by: 'batched', text: spreadTo(2) },
  { ...DIRECT, head: 'CPU us per row', value: clientCpu, text: spreadTo(1) },
  { ...DIRECT, head: 'core', value: clientCore, text: share },
  { ...DIRECT, head: 'Postgres', value: postgresCore, text: share },
]
