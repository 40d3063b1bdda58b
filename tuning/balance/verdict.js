import { milliseconds } from '../../load/report/table.js'
import { ratioText } from '../effects.js'
import { median } from '../ranks.js'
import { failingFigures, overheadFigures, PERCENTILES, strategyFigures } from './figures.js'
import { allLower } from './gains.js'

/**
 * @typedef {import('./steps.js').BalancePlan} BalancePlan
 * @typedef {import('./steps.js').Records} Records
 * @typedef {import('./figures.js').StrategyFigures} StrategyFigures
 */

/**
 * Whether adaptive beats round robin, in sentences.
 *
 * @param {StrategyFigures[]} strategies
 * @param {StrategyFigures[]} crowded the same at a higher rate
 * @param {import('./gains.js').Simulation | null} simulation
 * @returns {string[]}
 */
export function answerSentences(strategies, crowded, simulation) {
  return [...measuredSentence(strategies), ...crowdedSentence(crowded), ...simulatedSentence(simulation)]
}

/** @param {StrategyFigures[]} strategies @returns {string[]} */
function measuredSentence(strategies) {
  const ratios = strategies.find(({ strategy }) => strategy === 'adaptive')?.to_reference
  if (!ratios) return []
  const list = PERCENTILES.map((name) => `${name} ${ratioText(ratios[name])}`).join(', ')
  return [`Measured here, adaptive by round robin over uneven endpoints: ${list}. ${shapeText(ratios)}`]
}

/** @param {StrategyFigures[]} strategies @returns {string[]} */
function crowdedSentence(strategies) {
  const ratios = strategies.find(({ strategy }) => strategy === 'adaptive')?.to_reference
  if (!ratios) return []
  const list = PERCENTILES.map((name) => `${name} ${ratioText(ratios[name])}`).join(', ')
  const herd =
    ratios.p95.ratio > 1
      ? ' Until answers come the lowest score stays the lowest, and all requests go to the same endpoint: where its places are taken, they queue.'
      : ''
  return [`With more requests under way: ${list}.${herd}`]
}

/** @param {NonNullable<StrategyFigures['to_reference']>} ratios */
function shapeText(ratios) {
  const known = PERCENTILES.filter((name) => Number.isFinite(ratios[name].high))
  const lower = PERCENTILES.filter((name) => ratios[name].ratio < 1)
  const sure = known.filter((name) => !ratios[name].tied && ratios[name].ratio < 1)
  if (sure.length === PERCENTILES.length) return 'All four are lower: the published shape.'
  const lowerText = lower.length === PERCENTILES.length ? 'All four are lower' : `Lower: ${lower.join(', ') || 'none'}`
  if (known.length === 0) return `${lowerText}, in too few blocks to tell it from chance.`
  return `${lowerText}, beyond doubt ${sure.join(', ') || 'none'}: not the published shape, where all four are.`
}

/** @param {import('./gains.js').Simulation | null} simulation @returns {string[]} */
function simulatedSentence(simulation) {
  if (!simulation) return []
  const { few } = simulation
  // The published balancer had few requests under way at once.
  const worlds = simulation.worlds.filter(({ workers }) => workers === simulation.worlds[0].workers)
  const names = (/** @type {boolean} */ lower) => {
    return worlds.filter(({ gains }) => allLower(gains) === lower).map(({ world }) => `"${world}"`)
  }
  const [with_, without] = [names(true), names(false)]
  const yes = with_.length > 0 ? `All four percentiles are lower over the endpoints ${with_.join(' and ')}.` : ''
  const no =
    without.length > 0
      ? `Not so over ${without.join(' and ')}: a balancer can only gain from what lasts longer than an answer.`
      : ''
  const chance = `Of round robins of ${few.samples} samples, ${(few.all_lower_ratio * 100).toFixed(0)} % look slower at all four percentiles by chance alone.`
  return [`Simulated, the published shape: ${[yes, no, chance].filter(Boolean).join(' ')}`]
}

/**
 * Where HAProxy is the better choice, and where it is not: from the figures, each against adaptive.
 *
 * @param {BalancePlan} plan
 * @param {Records} records
 * @returns {{ better: string[], worse: string[], even: string[] }}
 */
export function haproxyAgainstAdaptive(plan, records) {
  const strategies = strategyFigures(plan, records)
  const crowded = strategyFigures(plan, records, 'crowded')
  const verdict = { better: [], worse: [], even: [] }
  const add = (/** @type {number} */ sign, /** @type {string} */ text) => {
    const list = /** @type {string[]} */ (sign < 0 ? verdict.better : sign > 0 ? verdict.worse : verdict.even)
    list.push(text)
  }
  latencyLines(strategies, 'uneven endpoints', add)
  latencyLines(crowded, 'the same, crowded', add)
  errorLines(strategies, 'uneven endpoints', add)
  errorLines(failingFigures(plan, records), 'one of equal endpoints fails', add)
  leavingLines(plan, records, add)
  overheadLines(plan, records, add)
  return verdict
}

/** @typedef {(sign: number, text: string) => void} Add below 0: HAProxy is better */

/** @param {StrategyFigures[]} figures @param {string} where @param {Add} add */
function latencyLines(figures, where, add) {
  for (const { strategy, to_adaptive } of figures.filter((one) => one.strategy.startsWith('haproxy'))) {
    for (const name of /** @type {const} */ (['p50', 'p95'])) {
      const effect = to_adaptive?.[name]
      if (!effect || Number.isNaN(effect.ratio)) continue
      const sign = effect.tied ? 0 : Math.sign(effect.ratio - 1)
      add(sign, `${name} of ${strategy}, ${where}: ${ratioText(effect)} of adaptive's`)
    }
  }
}

/** @param {{ strategy: string, error_ratio: number }[]} figures @param {string} where @param {Add} add */
function errorLines(figures, where, add) {
  const own = figures.find(({ strategy }) => strategy === 'adaptive')
  if (!own) return
  for (const { strategy, error_ratio } of figures.filter((one) => one.strategy.startsWith('haproxy'))) {
    const sign = Math.sign(error_ratio - own.error_ratio)
    add(
      sign,
      `errors met by clients, ${where}: ${percent(error_ratio)} with ${strategy}, ${percent(own.error_ratio)} with adaptive`,
    )
  }
}

/** @param {BalancePlan} plan @param {Records} records @param {Add} add */
function leavingLines(plan, records, add) {
  const figures = failingFigures(plan, records)
  const [own, haproxy] = ['adaptive', 'haproxy-leastconn'].map((name) =>
    figures.find(({ strategy }) => strategy === name),
  )
  if (!own || !haproxy) return
  for (const [name, about] of /** @type {const} */ ([
    ['leave_s', 'time to leave a failing endpoint'],
    ['back_s', 'time to come back'],
  ])) {
    const [ours, theirs] = [own, haproxy].map((one) => median(one[name].map((s) => s ?? Number.POSITIVE_INFINITY)))
    if (!Number.isFinite(ours) || !Number.isFinite(theirs)) continue
    add(
      Math.sign(theirs - ours),
      `${about}: ${theirs.toFixed(1)} s with haproxy-leastconn, ${ours.toFixed(1)} s with adaptive`,
    )
  }
}

/** @param {BalancePlan} plan @param {Records} records @param {Add} add */
function overheadLines(plan, records, add) {
  const figures = overheadFigures(plan, records)
  const [own, haproxy] = ['adaptive', 'haproxy-leastconn'].map((name) =>
    figures.find(({ strategy }) => strategy === name),
  )
  if (!own?.cpu_us || !haproxy?.cpu_us || !own.added_ms || !haproxy.added_ms) return
  add(
    Math.sign(haproxy.cpu_us - own.cpu_us),
    `CPU of the balancer per request: ${haproxy.cpu_us.toFixed(0)} us against ${own.cpu_us.toFixed(0)} us`,
  )
  const [theirs, ours] = [haproxy, own].map(({ added_ms }) => Number(added_ms?.estimate))
  add(Math.sign(theirs - ours), `added to the median: ${milliseconds(theirs)} against ${milliseconds(ours)}`)
}

/** @param {number} ratio */
export function percent(ratio) {
  return Number.isNaN(ratio) ? '–' : `${(ratio * 100).toFixed(1)} %`
}
