import { ramp } from '../../../../../tuning/experiments/ramp/ramp.js'
import { answerSentences, furtherSentences } from '../../../../../tuning/experiments/ramp/sentences.js'
import { recordsOf } from '../../../../support/simulated/records.js'
import { createService } from '../../../../support/simulated/service.js'

/** @import { Serve } from '../../../../support/simulated/service.js' */

export const PLAN = /** @type {any} */ ({
  ...{ ceiling_ms: 200, most_workers: 1000, growth: 2, close: 1.5, blocks: 8, background_rps: 0 },
  ...{ warmup_s: 0.5, duration_s: 2, mix: { name: 'create-user', seed: 1 }, prices: {} },
  slo: { p99_ms: 1e6, success_ratio: 0.99 },
  ...{ sides: { a: { url: 'http://a/' }, b: { url: 'http://b/' } }, drivers: ['autocannon'], without: null },
})

/**
 * @typedef {import('../../../../support/simulated/service.js').Truth} Truth
 * @typedef {Truth & { fails?: boolean, generator?: number }} Answers fails: half of its requests; generator: cores that it uses
 */

/** A service with so many requests/s and so long a way to it. @returns {(load: any) => Answers} */
export const service = (/** @type {number} */ capacity_rps, /** @type {number} */ least_ms) => () => ({
  capacity_rps,
  least_ms,
})

/**
 * A run against simulated services.
 * @param {any} plan
 * @param {Record<string, (load: any) => Answers>} services by side, or by side and driver
 * @param {{ noise?: number, invalid?: (step: any, number: number) => boolean }} [options]
 */
export function runOf(plan, services, { noise = 0.03, invalid = () => false } = {}) {
  const answersOf = (/** @type {any} */ { cell, load }) =>
    (services[`${cell.side}:${load.driver}`] ?? services[cell.side])(load)
  /** @type {Serve} */
  const serve = (step, trial) => {
    const { fails, generator, ...truth } = answersOf(step)
    const seen = createService({ noise, latency_noise: noise, ...truth }, { seed: plan.mix.seed })(step, trial)
    const refused = fails ? { ok_rps: seen.ok_rps / 2, refused_rps: seen.ok_rps / 2 } : {}
    return { ...seen, ...refused, ...(generator && { generator_cores: generator }) }
  }
  const change = (/** @type {any} */ record, /** @type {any} */ step) => {
    return invalid(step, record.trial - 1)
      ? { ...record, outcome: { verdict: 'invalid', because: 'so planned' } }
      : record
  }
  return recordsOf(plan, ramp.design, serve, { change })
}

/** @param {number} per_hour @param {number} [storage_gb] */
export function price(per_hour, storage_gb = 0) {
  return { per_hour, storage_gb, per_gb_month: 0.1 }
}

/** @param {any} plan @param {any[]} records @returns {any} */
export function findingsOf(plan, records) {
  return ramp.analyse(plan, records, {})
}

/** All sentences of a report, a line each. @param {any} findings */
export function textOf(findings) {
  return [...answerSentences(findings), ...furtherSentences(findings)].join('\n')
}
