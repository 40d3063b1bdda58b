import { count, milliseconds, NONE, wholePercent } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { spread } from '../../stats/tables.js'

/** @import { TrialRecord } from '../../../load/report/record.js' */

export const SATURATION_CONNECTIONS = 128
export const LOW_RATE_RPS = 2000
export const BUSY_RATE_RPS = 10_000
export const FAR_CONNECTIONS = 1024
export const FAR_LOW_RATE_RPS = 200
export const CROWDS = [256, 2500]
const FEW = `crowd-${CROWDS[0]}`

/**
 * kind: of the trials; by: the values are ratios to this contender, within a block.
 * @typedef {{ kind: string, head: string, value: (record: TrialRecord) => number, by?: string, text: (values: number[]) => string }} Column
 */

/** @satisfies {Record<string, Column['value']>} */
const VALUE = {
  inserts: ({ traffic }) => traffic.goodput_rps,
  cpu: (record) => Number(onServiceCore(record).cpu_us_per_request),
  core: (record) => Number(onServiceCore(record).cpu_core_ratio),
  p50: ({ traffic }) => Number(traffic.latency_ms?.p50),
  p99: ({ traffic }) => Number(traffic.latency_ms?.p99),
  offered: ({ load }) => Number(load.rate_rps),
  postgresCore: ({ probes }) => Number(probes.postgres.cpu_core_ratio),
}

/** The process on the service's core: the service or, without one, the client. @param {TrialRecord} record */
function onServiceCore({ target, probes }) {
  return target.pid === null ? probes.generator : probes.api
}

/** @satisfies {Record<string, Column['text']>} */
const TEXT = {
  whole: (values) => spread(values, 0),
  tenths: (values) => spread(values, 1),
  hundredths: (values) => spread(values, 2),
  latency: (values) => milliseconds(median(values)),
  rate: (values) => (values.length === 0 ? NONE : `${count(Math.round(median(values)))}/s`),
  share: (values) => wholePercent(median(values)),
}

/** Tables with captions, and columns after the first (the server). @type {Record<string, { about: string, columns: Column[] }>} */
export const TABLES = {
  closed: {
    about: `**As fast as possible**: closed loop, ${SATURATION_CONNECTIONS} connections; CPU of the service's process.`,
    columns: [
      { kind: 'saturation', head: 'inserts/s', value: VALUE.inserts, text: TEXT.whole },
      { kind: 'saturation', head: "inserts / batched's", value: VALUE.inserts, by: 'batched', text: TEXT.hundredths },
      { kind: 'saturation', head: 'CPU us each', value: VALUE.cpu, text: TEXT.tenths },
      { kind: 'saturation', head: "CPU / no-op's", value: VALUE.cpu, by: 'no-op', text: TEXT.hundredths },
      { kind: 'saturation', head: "CPU / batched's", value: VALUE.cpu, by: 'batched', text: TEXT.hundredths },
      { kind: 'saturation', head: 'CPU, of a core', value: VALUE.core, text: TEXT.share },
    ],
  },
  rates: {
    about: `**At the same rate for all**: open loop, ${count(LOW_RATE_RPS)}/s.`,
    columns: [
      { kind: 'low', head: 'p50', value: VALUE.p50, text: TEXT.latency },
      { kind: 'low', head: 'CPU us each', value: VALUE.cpu, text: TEXT.whole },
      { kind: 'low', head: "CPU / no-op's", value: VALUE.cpu, by: 'no-op', text: TEXT.hundredths },
      { kind: 'low', head: "CPU / batched's", value: VALUE.cpu, by: 'batched', text: TEXT.hundredths },
    ],
  },
  busy: {
    about: `**At ${count(BUSY_RATE_RPS)}/s**: open loop; what storing the rows adds to reading and parsing requests.`,
    columns: [
      { kind: 'busy', head: 'p50', value: VALUE.p50, text: TEXT.latency },
      { kind: 'busy', head: 'CPU us each', value: VALUE.cpu, text: TEXT.tenths },
      { kind: 'busy', head: "CPU / no-op's", value: VALUE.cpu, by: 'no-op', text: TEXT.hundredths },
      { kind: 'busy', head: "CPU / json's", value: VALUE.cpu, by: 'json', text: TEXT.hundredths },
    ],
  },
  half: {
    about: '**At half of what each server takes**: open loop.',
    columns: [
      { kind: 'half', head: 'offered', value: VALUE.offered, text: TEXT.rate },
      { kind: 'half', head: 'p50', value: VALUE.p50, text: TEXT.latency },
      { kind: 'half', head: 'p99', value: VALUE.p99, text: TEXT.latency },
    ],
  },
  far: {
    about: `**Far from the database**: batched, with a proxy that makes each round trip longer (rtt-0: without it); closed loop, ${count(FAR_CONNECTIONS)} connections, and an open loop at ${FAR_LOW_RATE_RPS}/s. A server's name says by how many ms a round trip is longer. A managed database is about as far as rtt-1: expect its round trip on top of each latency. Ratios are medians over the blocks, so they can differ from the quotient of two rates.`,
    columns: [
      { kind: 'saturation', head: 'inserts/s', value: VALUE.inserts, text: TEXT.whole },
      { kind: 'saturation', head: "inserts / rtt-0's", value: VALUE.inserts, by: 'rtt-0', text: TEXT.hundredths },
      { kind: 'saturation', head: 'CPU us each', value: VALUE.cpu, text: TEXT.tenths },
      { kind: 'saturation', head: 'CPU, of a core', value: VALUE.core, text: TEXT.share },
      { kind: 'low', head: `p50 at ${FAR_LOW_RATE_RPS}/s`, value: VALUE.p50, text: TEXT.latency },
      { kind: 'low', head: `p99 at ${FAR_LOW_RATE_RPS}/s`, value: VALUE.p99, text: TEXT.latency },
    ],
  },
  crowd: {
    about: `**With many clients**: batched, with as many connections as the name says; open loops, at twice what a closed loop with ${SATURATION_CONNECTIONS} connections takes, and at ${count(BUSY_RATE_RPS)}/s.`,
    columns: [
      { kind: 'over', head: 'inserts/s at twice', value: VALUE.inserts, text: TEXT.whole },
      { kind: 'over', head: `inserts / ${FEW}'s`, value: VALUE.inserts, by: FEW, text: TEXT.hundredths },
      { kind: 'busy', head: `CPU us each at ${count(BUSY_RATE_RPS)}/s`, value: VALUE.cpu, text: TEXT.tenths },
      { kind: 'busy', head: `CPU / ${FEW}'s`, value: VALUE.cpu, by: FEW, text: TEXT.hundredths },
      { kind: 'busy', head: `p99 at ${count(BUSY_RATE_RPS)}/s`, value: VALUE.p99, text: TEXT.latency },
      { kind: 'busy', head: `p99 / ${FEW}'s`, value: VALUE.p99, by: FEW, text: TEXT.hundredths },
    ],
  },
  direct: {
    about:
      "**The database without a service in front of it**: except for `batched`, a client on the core of the service sends the same rows to Postgres, without HTTP. The last column is the CPU of all of Postgres' processes, as a share of one core. The ratios compare with batched in the same block: above 1, Postgres can store more rows this way than batched sends.",
    columns: [
      { kind: 'saturation', head: 'rows/s', value: VALUE.inserts, text: TEXT.whole },
      { kind: 'saturation', head: "inserts / batched's", value: VALUE.inserts, by: 'batched', text: TEXT.hundredths },
      { kind: 'saturation', head: 'CPU us per row', value: VALUE.cpu, text: TEXT.tenths },
      { kind: 'saturation', head: 'CPU, of a core', value: VALUE.core, text: TEXT.share },
      { kind: 'saturation', head: 'Postgres', value: VALUE.postgresCore, text: TEXT.share },
    ],
  },
}
