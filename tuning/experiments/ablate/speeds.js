import { readFileSync } from 'node:fs'
import { heading, paragraph, table, titled } from '../../../load/report/blocks.js'
import { figure, NONE } from '../../../load/report/format.js'
import { median } from '../../../load/verdict/ranks.js'
import { observationsOf, ratioOf, ratioText } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { GENERATOR_LIMIT, generatorWasLimit, isSound } from '../../stats/sound.js'
import { RELEVANT_RATIO } from './budget-report.js'
import { nameOf, variantsOf, WHOLE } from './stages.js'
import { closedLoopsOf } from './steps.js'

/** @import { AblatePlan, Records } from './steps.js' */

const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ablate.json', import.meta.url), 'utf8'))
const DETAIL = { detail: true }

/**
 * The results of each closed loop in each variant, and its speed-up without each stage and without all of them.
 * @param {Pick<AblatePlan, 'stages' | 'consumers'>} plan @param {Records} records
 * @typedef {ReturnType<typeof closedOf>[number]} Closed
 */
export function closedOf(plan, records) {
  const { stages } = plan
  const removed = [...stages.map((stage) => [stage]), ...(stages.length > 1 ? [stages] : [])]
  return closedLoopsOf(plan).map((consumer) => ({
    consumer,
    whole_rps: median(consumed(records, consumer, WHOLE).map(({ traffic }) => traffic.goodput_rps)),
    speeds: removed.map((without) => ({ consumer, without, ...speedUp(records, consumer, nameOf(without)) })),
    variants: variantsOf(stages).flatMap((without) => statisticsOf(records, consumer, nameOf(without)) ?? []),
  }))
}

/**
 * The goodput of a closed loop in a variant, as a ratio to the whole. isLimited: the generator was the limit of either.
 * @param {Records} records @param {string} consumer @param {string} variant
 */
export function speedUp(records, consumer, variant) {
  const observations = observationsOf(consumed(records, consumer), ({ traffic }) => traffic.goodput_rps)
  const isLimited = [variant, WHOLE].some((one) => generatorWasLimit(consumed(records, consumer, one)))
  return { ...ratioOf(observations, { variant }, { variant: WHOLE }), isLimited }
}

/**
 * Successes per second in a variant, with the statistics that were published, or null without a sound trial.
 * @param {Records} records @param {string} consumer @param {string} variant
 */
export function statisticsOf(records, consumer, variant) {
  const trials = consumed(records, consumer, variant)
  // A trial shorter than a second is one sample. Longer trials give one per full second, as the last second may be incomplete.
  const samples = trials.flatMap(({ load, traffic }) => {
    if (load.duration_s < 1) return [traffic.goodput_rps]
    return traffic.per_second.slice(0, Math.floor(load.duration_s)).map(({ ok }) => ok)
  })
  const count = samples.length
  if (count === 0) return null
  const sum = samples.reduce((total, rps) => total + rps, 0)
  const mean = sum / count
  const squares = samples.reduce((total, rps) => total + (rps - mean) ** 2, 0)
  return {
    variant,
    count,
    min: Math.min(...samples),
    max: Math.max(...samples),
    sum,
    mean,
    median: median(samples),
    sd: count > 1 ? Math.sqrt(squares / (count - 1)) : Number.NaN,
    cpu_us: median(trials.map(({ probes }) => probes.api.cpu_us_per_request)),
  }
}

/** A consumer's sound trials in blocks, of one variant or all. @param {Records} records @param {string} consumer @param {string} [variant] */
export function consumed(records, consumer, variant) {
  const trials = trialsAt(records, { phase: 'blocks', consumer }, isSound)
  return variant === undefined ? trials : trials.filter(({ cell }) => cell.variant === variant)
}

/** Whether the published conclusion holds; empty without a closed loop. @param {Closed[]} closed */
export function publishedVerdict(closed) {
  const all = closed.flatMap(({ speeds }) => speeds).filter(({ without }) => without.length === 1)
  if (all.length === 0) return []
  return [`Published: removing a stage made no difference. ${hereText(all.filter(({ isLimited }) => !isLimited))}`]
}

/** @param {Closed['speeds']} speeds without a single stage, where the generator was not the limit */
function hereText(speeds) {
  if (speeds.length === 0) return `Here ${GENERATOR_LIMIT}, so nothing can be said about that.`
  const faster = speeds.filter(({ low }) => low > 1 + RELEVANT_RATIO)
  const texts = faster.map(({ without: [stage], consumer, ...speed }) => `${stage} (${consumer}: ${ratioText(speed)})`)
  if (faster.length > 0) return `Not so here: throughput rises without ${texts.join(', ')}.`
  const isSame = speeds.every(({ high }) => high < 1 + RELEVANT_RATIO)
  return isSame ? 'The same here.' : 'Here no stage certainly does, but not all are settled.'
}

/** The throughput without each stage; empty without a closed loop. @param {Closed[]} closed */
export function ratioBlocks(closed) {
  if (closed.length === 0) return []
  const whole = ['nothing (successes/s)', ...closed.map(({ whole_rps }) => figure(whole_rps))]
  const rows = closed[0].speeds.map(({ without }, i) => [
    without.length === 1 ? without[0] : 'all of them',
    ...closed.map(({ speeds: { [i]: speed } }) => {
      return speed.isLimited && speed.pairs > 0 ? GENERATOR_LIMIT : ratioText(speed)
    }),
  ])
  const head = ['removed', ...closed.map(({ consumer }) => consumer)]
  return titled('**Throughput without a stage**, as a ratio to the whole:', head, [whole, ...rows], { name: 'speeds' })
}

/** The statistics of each variant; empty without a closed loop. @param {Closed[]} closed */
export function statisticsBlocks(closed) {
  const tables = closed.map(({ consumer, variants }) => {
    const rows = variants.map(({ variant, count, ...figures }) => {
      return [variant, String(count), ...Object.values(figures).map(figure)]
    })
    const head = [consumer, 'count', 'min', 'max', 'sum', 'mean', 'median', 'sd', 'CPU us per request']
    return table(head, rows)
  })
  return tables.length > 0 ? [heading('Successes per second', DETAIL), ...tables] : []
}

/** The published figures. */
export function publishedBlocks() {
  const { title, author, setting, unit, variants, consumers, samples, conclusion } = PUBLISHED
  const rows = consumers.map((/** @type {{ name: string, per_s: (number | null)[] }} */ { name, per_s }) => {
    const [whole] = per_s
    return [name, ...per_s.map((rps) => (rps === null ? NONE : `${rps} (${(rps / Number(whole)).toFixed(2)}x)`))]
  })
  const figures = Object.entries(samples).map(([name, value]) => `${name} ${value}`)
  const text = `"${title}" (${author}): ${setting}. Samples of one run: ${figures.join(', ')}. It concludes: ${conclusion}.`
  return [heading('Published', DETAIL), table([unit, ...variants], rows), paragraph(text)]
}
