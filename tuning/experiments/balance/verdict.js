import { count, tenthPercent } from '../../../load/report/format.js'
import { groupBy } from '../../stats/design.js'
import { ratioText } from '../../stats/effects.js'
import { unmeasured } from '../../stats/sound.js'
import { PERCENTILES } from './figures.js'
import { allLower } from './published.js'
import { cellsOf, REFERENCE } from './steps.js'

/**
 * @import { Figures } from './figures.js'
 * @import { BalancePlan } from './balance.js'
 * @import { Simulation } from './simulation.js'
 * @import { Records } from './steps.js'
 * @typedef {Figures['strategies']} Uneven figures over uneven endpoints
 * @typedef {NonNullable<Uneven[number]['to_reference']>} Ratios by percentile
 */

/** Whether adaptive beats round robin. @param {Uneven} strategies @param {Uneven} crowded @param {Simulation | null} simulation */
export function answerSentences(strategies, crowded, simulation) {
  const [uneven, dense] = [strategies, crowded].map((figures) => figureOf('adaptive', figures)?.to_reference)
  const sentences = [
    uneven &&
      `Adaptive divided by round robin, measured over uneven endpoints: ${ratiosText(uneven)}. ${shapeText(uneven)}`,
    dense && `With more requests in flight: ${ratiosText(dense)}.${herdText(crowded, dense)}`,
    simulation && simulatedSentence(simulation),
  ]
  return sentences.filter((sentence) => typeof sentence === 'string')
}

/** @param {string} name @param {Uneven} figures */
function figureOf(name, figures) {
  return figures.find(({ strategy }) => strategy === name)
}

/** @param {Ratios} ratios */
function ratiosText(ratios) {
  return PERCENTILES.map((name) => `${name} ${ratioText(ratios[name])}`).join(', ')
}

/** Explains why adaptive is slower in a crowd, if it surely is. @param {Uneven} crowded @param {Ratios} ratios */
function herdText(crowded, { p95 }) {
  if (p95.low <= 1 || !Number.isFinite(p95.high)) return ''
  const [own, other] = ['adaptive', REFERENCE].map((name) => figureOf(name, crowded)?.queued_ratio ?? Number.NaN)
  const herd =
    'adaptive sends each request to the endpoint with the best score, and scores change only when responses arrive. Until then, all requests go to the same endpoint.'
  return ` ${tenthPercent(own)} of adaptive's requests had to queue at their endpoint, ${tenthPercent(other)} of round robin's: ${own > other ? herd : 'queues do not explain it.'}`
}

const UNLIKE = 'The published endpoints were of equal quality; ours are uneven by design.'

/** Whether all four are surely lower, as published, or one of them surely not. @param {Ratios} ratios */
export function shapeText(ratios) {
  const those = (/** @type {(effect: Ratios['p50']) => boolean} */ are) =>
    PERCENTILES.filter((name) => are(ratios[name]))
  const lower = those(({ high, tied }) => high < 1 && !tied)
  const higher = those(({ low, high }) => low >= 1 && Number.isFinite(high))
  if (those(({ high }) => Number.isFinite(high)).length === 0) return 'Too few blocks to tell any of it from chance.'
  if (lower.length === PERCENTILES.length) return `All four are lower, as published (95 % confidence each). ${UNLIKE}`
  const found = Object.entries({ Lower: lower, 'Not lower': higher }).flatMap(([word, names]) => {
    return names.length > 0 ? [`${word} (95 % confidence each): ${names.join(', ')}.`] : []
  })
  const shape = higher.length > 0 ? 'So not the published shape.' : 'Whether all four are lower, as published, is open.'
  return [...found, shape, UNLIKE].join(' ')
}

/** @param {Simulation} simulation */
function simulatedSentence({ few, worlds }) {
  const byWorkers = [...groupBy(worlds, ({ workers }) => String(workers))]
  const found = groupBy(byWorkers, ([, own]) => whereLower(own))
  const sentences = [...found].map(([where, all]) => {
    const numbers = all.map(([workers]) => workers).join(' and with ')
    return `With ${numbers} ${numbers === '1' ? 'request' : 'requests'} in flight, adaptive is lower in all four percentiles over ${where}.`
  })
  const chance = `Could the published gain be mere chance? Round robin's percentiles come from only ${few.samples} requests, which may have been slow by chance. Suppose that they are its true percentiles. Of ${count(few.draws)} random samples of ${few.samples} latencies from such a round robin, ${tenthPercent(few.all_lower_ratio)} are by chance slower than the truth in all four percentiles, and ${tenthPercent(few.as_published_ratio)} by at least adaptive's published gain.`
  return `We simulated the published case over three kinds of endpoints. "equal, no memory": each answer is fast or slow at random, independently of the one before. "equal, with spells": each endpoint has fast and slow spells. "uneven": they differ, like ours. All of them take any number of requests at once, so nothing queues. ${sentences.join(' ')} ${chance}`
}

/** Names the simulated endpoints over which adaptive is lower in all percentiles, and the others. @param {Simulation['worlds']} own */
function whereLower(own) {
  const [lower, others] = [true, false].map((is) => {
    return own
      .filter(({ gains }) => allLower(gains) === is)
      .map(({ world }) => `"${world}"`)
      .join(' and ')
  })
  if (lower === '') return 'none of them'
  return others === '' ? lower : `${lower}, but not over ${others}`
}

/** Names a strategy without a sound trial, which rules out an answer, or null. @param {BalancePlan} plan @param {Records} records */
export function problemOf(plan, records) {
  const missing = unmeasured(cellsOf(plan), records)
  return missing && `${missing.cell.part}: ${missing.cell.strategy} ${missing.why}`
}
