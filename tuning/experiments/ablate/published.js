import { readFileSync } from 'node:fs'
import { heading, paragraph, table } from '../../../load/report/blocks.js'
import { NONE } from '../../../load/report/format.js'
import { changeText } from '../../../load/report/proof.js'
import { ratioText } from '../../stats/effects.js'
import { GENERATOR_LIMIT } from '../../stats/sound.js'
import { RELEVANT_RATIO } from './budget-report.js'
import { effectOf } from './speeds.js'

/**
 * @import { Elasticity } from '../../../load/report/record.js'
 * @import { Closed } from './speeds.js'
 */

const PUBLISHED = JSON.parse(readFileSync(new URL('../../published/ablate.json', import.meta.url), 'utf8'))

/** Holds for any stage without which a closed loop is faster: its connections are as many, so each of them waits for less time. */
const WHY =
  'Why they differ: the published service processed an event stream, and its bottleneck was none of the stages that were removed. Here, each connection waits for the response before it sends the next request, and without these stages the response comes sooner.'

/**
 * Whether the published conclusion holds, and why not, if it does not; empty without a closed loop.
 * @param {Closed[]} closed @param {Elasticity[]} [elasticities] of the whole, if proven, most elastic first
 */
export function publishedVerdict(closed, elasticities = []) {
  const all = closed.flatMap(({ speeds }) => speeds).filter(({ without }) => without.length === 1)
  if (all.length === 0) return []
  return [`Published: removing a stage made no difference. ${hereText(all, elasticities)}`]
}

/** @param {Closed['speeds']} all without a single stage @param {Elasticity[]} elasticities */
function hereText(all, elasticities) {
  const speeds = all.filter(({ isLimited }) => !isLimited)
  if (speeds.length === 0) return `Here ${GENERATOR_LIMIT}, so nothing can be said about that.`
  const faster = speeds.filter((speed) => effectOf(speed) === 'faster' && speed.low > 1 + RELEVANT_RATIO)
  const texts = faster.map(({ without: [stage], consumer, ...speed }) => `${stage} (${consumer}: ${ratioText(speed)})`)
  if (faster.length > 0) {
    const here = `Not so here: throughput rises without ${texts.join(', ')}.`
    return [here, WHY, ...bottleneckTexts(elasticities)].join(' ')
  }
  const relevant = `${RELEVANT_RATIO * 100} %`
  const isSame = speeds.every(({ high }) => high < 1 + RELEVANT_RATIO)
  if (isSame) return `The same here: no removal raises the throughput by ${relevant} or more${exceptText(all)}.`
  return `Here no removal certainly raises the throughput by more than ${relevant}, but not all are settled: more blocks would tell whether the conclusions differ.`
}

/** Stages whose removal no closed loop could measure; empty if there are none. @param {Closed['speeds']} all */
function exceptText(all) {
  const stages = [...new Set(all.map(({ without: [stage] }) => stage))]
  const unknown = stages.filter((stage) => all.every(({ without, isLimited }) => without[0] !== stage || isLimited))
  return unknown.length > 0 ? `, except perhaps that of ${unknown.join(', ')}: there, ${GENERATOR_LIMIT}` : ''
}

/** The limit of the complete API, by the proof; empty if no dose certainly had an effect. @param {Elasticity[]} elasticities */
function bottleneckTexts(elasticities) {
  const dosed = elasticities.filter(({ low, factor, undosed }) => Number(low) > 0 && !factor && !undosed)
  return dosed.slice(0, 1).map((one) => `What matters most to the whole, by the proof: ${changeText(one)}.`)
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
  return [heading('Published', { detail: true }), table([unit, ...variants], rows), paragraph(text)]
}
