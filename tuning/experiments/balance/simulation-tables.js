import { count, milliseconds } from '../../../load/report/format.js'
import { table } from '../../stats/spread.js'
import { gainsOf, PUBLISHED, QUANTILES } from './gains.js'
import { percent } from './verdict.js'

/** @import { Simulation } from './gains.js' */

const HEAD = QUANTILES.map((name) => name.replace('_ms', ''))

/**
 * What the simulation gained, beside what was published.
 *
 * @param {Simulation | null} simulation
 */
export function simulationTable(simulation) {
  if (!simulation) return ''
  const { worlds, few } = simulation
  const rows = worlds.map(({ world, workers, round_robin, adaptive, gains }) => [
    `${world}, ${workers} under way`,
    ...QUANTILES.map((name) => pairText(round_robin[name], adaptive[name], gains[name])),
    `${(round_robin.mean_ms - adaptive.mean_ms).toFixed(0)} ms`,
    `${percent(round_robin.error_ratio)} -> ${percent(adaptive.error_ratio)}`,
  ])
  const { round_robin, adaptive } = PUBLISHED
  const gains = gainsOf(round_robin, adaptive)
  const published = QUANTILES.map((name) => pairText(round_robin[name], adaptive[name], gains[name]))
  const half = QUANTILES.map((name) => {
    const { p25, p75 } = few.half_of_draws[name]
    return `${p25.toFixed(2)}x to ${p75.toFixed(2)}x`
  })
  const head = ['endpoints', ...HEAD, 'saved per request', 'errors']
  return [
    '**Simulated, beside what was published**: round robin -> adaptive, and the ratio of the two.',
    table(head, [['published', ...published, '–', '–'], ...rows]),
    `Published round robin rests on ${few.samples} samples. Of ${count(few.draws)} sets of as many, drawn from a distribution through the published quantiles and compared with it, half put the ratios at ${HEAD.map((name, i) => `${name} ${half[i]}`).join(', ')}.`,
  ].join('\n\n')
}

/** @param {Simulation} simulation */
export function worldLines({ worlds }) {
  const lines = new Map(worlds.map(({ world, about }) => [world, `- ${world}: ${about}.`]))
  return [...lines.values()].join('\n')
}

export function publishedLine() {
  const { title, author, setting, samples, parameters, overhead_ms } = PUBLISHED
  const gains = gainsOf(PUBLISHED.round_robin, PUBLISHED.adaptive)
  const list = QUANTILES.map((name) => {
    return `${name.replace('_ms', '')} ${PUBLISHED.adaptive[name]} of ${PUBLISHED.round_robin[name]} ms (${gains[name].toFixed(2)}x)`
  })
  return `"${title}" (${author}): ${setting} (${count(samples)}). Adaptive of round robin: ${list.join(', ')}; priority factor ${parameters.factor}, error factor ${parameters.error_factor}, decay ${parameters.decay}; the balancer adds about ${overhead_ms} ms of its own.`
}

/** @param {number} slow_ms @param {number} fast_ms @param {number} gain */
function pairText(slow_ms, fast_ms, gain) {
  return `${milliseconds(slow_ms)} -> ${milliseconds(fast_ms)}, ${gain.toFixed(2)}x`
}
