import { levelsOf } from '../../stats/design.js'

/**
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Observation } from '../../stats/effects.js'
 */

/**
 * The figures by which cells are compared.
 *
 * @typedef {object} Response
 * @property {string} title
 * @property {string} unit
 * @property {'below' | 'at' | 'above'} kind of the trial that it is taken from
 * @property {'more' | 'less'} better
 * @property {(record: TrialRecord) => number | undefined} value
 */

/** @satisfies {Record<string, Response>} */
export const RESPONSES = {
  goodput: {
    title: "Goodput when 1.5 x the anchor's capacity is offered",
    unit: '/s',
    kind: 'above',
    better: 'more',
    // Nothing at all has no logarithm.
    value: ({ traffic }) => Math.max(1, traffic.goodput_rps),
  },
  p99: {
    title: "p99 when 1.5 x the anchor's capacity is offered",
    unit: 'ms',
    kind: 'above',
    better: 'less',
    value: ({ traffic }) => traffic.latency_ms?.p99,
  },
  cpu: {
    title: "CPU of the API per request, at half of the anchor's capacity",
    unit: 'us',
    kind: 'below',
    better: 'less',
    value: ({ probes }) => probes.api.cpu_us_per_request,
  },
}

/**
 * What the blocks of a matrix say about one of them.
 *
 * @param {Response} response
 * @param {TrialRecord[]} records
 * @returns {Observation[]}
 */
export function observationsOf({ kind, value }, records) {
  return blockTrials(records, kind).flatMap((record) => {
    const found = value(record)
    const cell = String(record.cell)
    const block = Number(record.experiment.split('/')[1])
    return found === undefined || !(found > 0) ? [] : [{ block, cell, levels: levelsOf(cell), value: found }]
  })
}

/** The valid ones. @param {TrialRecord[]} records @param {string} kind */
export function blockTrials(records, kind) {
  return records.filter(({ experiment, outcome }) => {
    return experiment.startsWith('block/') && experiment.endsWith(`/${kind}`) && outcome.verdict !== 'invalid'
  })
}
