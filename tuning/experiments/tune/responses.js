import { KNOBS } from '../../knobs/knobs.js'
import { mainEffects, noiseOf, observationsOf } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'

/**
 * @import { Effect } from '../../stats/effects.js'
 * @import { TunePlan } from './design.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/**
 * A figure by which cells are compared. kind: of the trials that have it
 *
 * @typedef {{ name: string, title: string, short: string, kind: 'below' | 'above', better: 'more' | 'less', value: (record: TrialRecord) => number | undefined }} Response
 */

/** In order of importance. @type {Response[]} */
export const RESPONSES = [
  {
    name: 'goodput',
    title: "Goodput when 1.5 x the anchor's capacity is offered",
    short: 'goodput at 1.5x',
    kind: 'above',
    better: 'more',
    // Zero has no logarithm.
    value: ({ traffic }) => Math.max(1, traffic.goodput_rps),
  },
  {
    name: 'p99',
    title: "p99 when 1.5 x the anchor's capacity is offered",
    short: 'p99 at 1.5x',
    kind: 'above',
    better: 'less',
    value: ({ traffic }) => traffic.latency_ms?.p99,
  },
  {
    name: 'cpu',
    title: "CPU of the API per request, at half of the anchor's capacity",
    short: 'CPU at 0.5x',
    kind: 'below',
    better: 'less',
    value: ({ probes }) => probes.api.cpu_us_per_request,
  },
]

/** The effects of all knobs on each response. @param {Pick<TunePlan, 'knobs'>} plan @param {TrialRecord[]} records */
export function measured({ knobs }, records) {
  return RESPONSES.map((response) => {
    const observations = observationsOf(trialsAt(records, { kind: response.kind }), response.value)
    const noise = noiseOf(observations)
    const effects = knobs.map((knob) => ({ knob, found: mainEffects(observations, knob, noise) }))
    return { ...response, observations, noise, effects }
  })
}

/**
 * The level of each knob with the highest goodput; where that is a tie, with the lowest p99 beyond the anchor's capacity; where that
 * is one too, with the least CPU; where all are ties, the reference. A level that costs something else, such as durability or a
 * log, is never recommended. Pure.
 *
 * @param {Pick<TunePlan, 'knobs'>} plan
 * @param {TrialRecord[]} records
 */
export function recommendationOf(plan, records) {
  const known = measured(plan, records)
  const choices = plan.knobs.map(({ name, levels }, i) => {
    /** by: the response in which the level is better; null: it is the reference */
    const reference = { name, level: levels[0], by: null, effect: null }
    if (!KNOBS[name].advised) return reference
    let candidates = levels.slice(1)
    for (const { name: by, better, effects } of known) {
      const found = effects[i].found.filter(({ level }) => candidates.includes(level))
      const gainOf = (/** @type {Effect} */ { ratio }) => (better === 'more' ? ratio : 1 / ratio)
      const [best] = found.filter((effect) => !effect.tied && gainOf(effect) > 1).sort((a, b) => gainOf(b) - gainOf(a))
      if (best) return { name, level: best.level, by, effect: best }
      candidates = found.filter(({ tied, pairs }) => tied && pairs > 0).map(({ level }) => level)
    }
    return reference
  })
  return { levels: Object.fromEntries(choices.map(({ name, level }) => [name, level])), choices }
}
