import { count, milliseconds, NONE } from '../../../load/report/format.js'
import { median } from '../../stats/ranks.js'
import { spread, table } from '../../stats/spread.js'
import { CONTENDERS } from './contenders.js'
import { blockOf, HIGH_RATE_RPS, kindOf, LOW_RATE_RPS, SATURATION_CONNECTIONS } from './steps.js'

/** @import { TrialRecord } from '../../../load/run/trial.js' */

/** A generator that uses this much of its core was the limit itself: the target could have taken more. */
const GENERATOR_FULL_RATIO = 0.85

/**
 * What a bench found, as markdown: medians over the blocks with [least–most]; ratios are those within a block.
 *
 * @param {TrialRecord[]} records
 * @returns {string}
 */
export function benchTables(records) {
  const valid = records.filter(({ outcome }) => outcome.verdict !== 'invalid')
  const names = CONTENDERS.map(({ name }) => name).filter((name) => valid.some(({ cell }) => cell === name))
  const rows = names.map((name) => rowsOf(name, valid))
  return [
    `**As fast as it goes**: closed loop, ${SATURATION_CONNECTIONS} connections; CPU of the service's process.`,
    table(
      ['server', 'inserts/s', 'of batched', 'CPU us each', 'x no-op', 'of batched', 'core'],
      rows.map((row) => row.saturation),
    ),
    `**At rates that are the same for all**: open loop; p50 and CPU at ${count(LOW_RATE_RPS)}/s, CPU at ${count(HIGH_RATE_RPS)}/s where that is within reach.`,
    table(
      ['server', 'p50', 'CPU us each', 'x no-op', 'of batched', `at ${count(HIGH_RATE_RPS)}/s: CPU us each`, 'x no-op'],
      rows.map((row) => row.fixed),
    ),
    '**At half of what it takes itself**: open loop.',
    table(
      ['server', 'offered', 'p50', 'p99'],
      rows.map((row) => row.half),
    ),
    names.map((name) => `- ${name}: ${CONTENDERS.find((contender) => contender.name === name)?.about}`).join('\n'),
  ].join('\n\n')
}

/** @param {string} name @param {TrialRecord[]} records */
function rowsOf(name, records) {
  const of = (/** @type {string} */ cell, /** @type {string} */ kind) => {
    return records.filter((record) => record.cell === cell && kindOf(record.experiment) === kind)
  }
  const [own, low, high, half] = ['saturation', 'low', 'high', 'half'].map((kind) => of(name, kind))
  const ratioTo = (/** @type {string} */ other, /** @type {string} */ kind, /** @type {Value} */ value) => {
    return ratios(of(name, kind), of(other, kind), value)
  }
  const full = own.some(({ probes }) => Number(probes.generator.cpu_core_ratio) > GENERATOR_FULL_RATIO)
  return {
    saturation: [
      name,
      `${full ? '≥ ' : ''}${spread(own.map(goodput), 0)}`,
      spread(ratioTo('batched', 'saturation', goodput), 2),
      spread(own.map(cpu), 1),
      spread(ratioTo('no-op', 'saturation', cpu), 2),
      spread(ratioTo('batched', 'saturation', cpu), 2),
      `${Math.round(median(own.map(({ probes }) => Number(probes.api.cpu_core_ratio))) * 100)} %`,
    ],
    fixed: [
      name,
      milliseconds(median(low.map(p50))),
      spread(low.map(cpu), 0),
      spread(ratioTo('no-op', 'low', cpu), 2),
      spread(ratioTo('batched', 'low', cpu), 2),
      spread(high.map(cpu), 1),
      spread(ratioTo('no-op', 'high', cpu), 2),
    ],
    half: [
      name,
      half.length === 0 ? NONE : `${count(Math.round(median(half.map(({ load }) => Number(load.rate_rps)))))}/s`,
      milliseconds(median(half.map(p50))),
      milliseconds(median(half.map(p99))),
    ],
  }
}

/** @typedef {(record: TrialRecord) => number} Value */

/** @type {Value} */
const goodput = ({ traffic }) => traffic.goodput_rps
/** @type {Value} */
const cpu = ({ probes }) => probes.api.cpu_us_per_request ?? Number.NaN
/** @type {Value} */
const p50 = ({ traffic }) => traffic.latency_ms?.p50 ?? Number.NaN
/** @type {Value} */
const p99 = ({ traffic }) => traffic.latency_ms?.p99 ?? Number.NaN

/**
 * Ratios of trials of the same block.
 *
 * @param {TrialRecord[]} own
 * @param {TrialRecord[]} others
 * @param {Value} value
 */
export function ratios(own, others, value) {
  return own.flatMap((record) => {
    const other = others.find(({ experiment }) => blockOf(experiment) === blockOf(record.experiment))
    return other ? [value(record) / value(other)] : []
  })
}
