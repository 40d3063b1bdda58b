import { recordOf } from './record.js'

/**
 * @import { TrialRecord } from './record.js'
 * @import { Serve } from './service.js'
 * @import { Step } from '../../../load/report/record.js'
 */

/** A run that does not end is a mistake in its design. */
const MOST_TRIALS = 5000

/**
 * The trials of a design, without a run around them: the design asks, the service answers, until nothing is left to ask.
 * @param {any} plan of the verb
 * @param {(plan: any, records: any[], notApplied: any[]) => Step | null} next
 * @param {Serve} serve
 * @param {object} [options]
 * @param {(record: TrialRecord, step: Step) => object} [options.change] of a record, such as a
 *   verdict
 * @param {any[]} [options.notApplied]
 * @param {any[]} [options.given] trials that there are already
 * @returns {any[]} records, in order
 */
export function recordsOf(plan, next, serve, { change = (record) => record, notApplied = [], given = [] } = {}) {
  const records = [...given]
  let at_s = records.reduce((sum, { load }) => sum + load.warmup_s + load.duration_s, 0)
  for (let step = next(plan, records, notApplied); step; step = next(plan, records, notApplied)) {
    if (records.length >= MOST_TRIALS) throw new Error(`the design goes on after ${MOST_TRIALS} trials`)
    const trial = records.length + 1
    const started_at = new Date(at_s * 1000).toISOString()
    const about = { trial, started_at, ...(plan.slo && { slo: plan.slo }), ...(plan.mix && { mix: plan.mix }) }
    records.push(change(recordOf(step, serve(step, { trial, at_s }), about), step))
    at_s += step.load.warmup_s + step.load.duration_s
  }
  return records
}
