import { paragraph, titled } from '../../../load/report/blocks.js'
import { NONE } from '../../../load/report/format.js'
import { proofText, undosedTexts } from '../../../load/report/proof.js'
import { observationsOf, ratioOf, ratioText } from '../../stats/effects.js'
import { GENERATOR_LIMIT } from '../../stats/sound.js'
import { columnsOf } from '../../stats/tables.js'
import { intervalText, RELEVANT_RATIO } from './budget-report.js'
import { nameOf, WHOLE } from './stages.js'
import { consumed, proverOf } from './steps.js'

/**
 * @import { Elasticity } from '../../../load/report/record.js'
 * @import { Budget, Figure } from './budget.js'
 * @import { Closed } from './speeds.js'
 * @import { AblatePlan, Records } from './steps.js'
 */

/**
 * The throughput without each stage, as the proof forecasts it and as the same closed loop measured it, both as ratios to the whole.
 * The budget gives the stage's share of the CPU; the elasticity says how much of that share turns into throughput.
 * @param {Pick<AblatePlan, 'consumers' | 'proves'>} plan @param {Records} records
 * @param {{ budget: Budget, closed: Closed[], elasticities?: Elasticity[] }} found budget: of the CPU
 * @returns {Forecast[]} empty without a proof
 * @typedef {Pick<Figure, 'low' | 'high'> & { ratio: number }} Ratio
 * @typedef {{ stage: string, saved_us: Figure, postgres: Ratio, forecast: Ratio, measured: Closed['speeds'][number] }} Forecast
 *   postgres: Postgres' CPU per request
 */
export function forecastsOf(plan, records, { budget, closed, elasticities = [] }) {
  const consumer = proverOf(plan)
  const service = elasticities.find(isService)
  const { speeds } = closed.find((one) => one.consumer === consumer) ?? {}
  if (!service || !speeds) return []
  const work = observationsOf(consumed(records, String(consumer)), ({ probes, traffic }) => {
    return Number(probes.postgres?.cpu_core_ratio) / traffic.goodput_rps
  })
  return budget.lines.map(({ stage, alone }, i) => ({
    stage,
    saved_us: alone,
    postgres: stage === 'database' ? NO_WORK : ratioOf(work, { variant: nameOf([stage]) }, { variant: WHOLE }),
    forecast: forecastOf(alone, budget.whole.estimate, service),
    measured: speeds[i],
  }))
}

/** Without a statement, Postgres has nothing to do. @type {Ratio} */
const NO_WORK = { ratio: 0, low: 0, high: 0 }

/** @param {Elasticity} suspect */
function isService({ resource }) {
  return resource === 'api-cpu'
}

/**
 * The elasticity is d ln(throughput) / d ln(speed), and a request that costs the share 1 - s runs at 1 / (1 - s) of the speed. The
 * interval is the widest that the intervals of savings and elasticity allow.
 * @param {Figure} saved_us @param {number} whole_us @param {Elasticity} service @returns {Ratio}
 */
function forecastOf(saved_us, whole_us, { elasticity, low, high }) {
  const gain = (/** @type {number} */ us, /** @type {number} */ power) => (1 - us / whole_us) ** -power
  const ratio = gain(saved_us.estimate, elasticity)
  const isKnown = [saved_us.low, saved_us.high].every(Number.isFinite)
  if (low === null || high === null || !isKnown) return { ratio, low: 0, high: Number.POSITIVE_INFINITY }
  const corners = [saved_us.low, saved_us.high].flatMap((us) => [low, high].map((power) => gain(us, power)))
  return { ratio, low: Math.min(...corners), high: Math.max(...corners) }
}

/** Whether a removal certainly changes Postgres' work, which the service's elasticity ignores. @param {Forecast} forecast */
function isShared({ postgres: { low, high } }) {
  return high < 1 - RELEVANT_RATIO || low > 1 + RELEVANT_RATIO
}

/** Whether the two intervals overlap. @param {Forecast} forecast @returns {string} a dash if they cannot be compared */
export function agreementOf(forecast) {
  const { forecast: said, measured } = forecast
  const isKnown = [said, measured].every(({ low, high }) => Number.isFinite(low) && Number.isFinite(high))
  if (isShared(forecast) || measured.isLimited || !isKnown) return NONE
  return said.low <= measured.high && measured.low <= said.high ? 'yes' : 'no'
}

/**
 * The effect of the doses, and the forecasts that follow from it; empty without a proof.
 * @param {{ plan: AblatePlan, records: Records, budgets: Record<string, Budget>, elasticities?: Elasticity[], forecasts: Forecast[] }} findings
 */
export function forecastBlocks({ plan, records, budgets, elasticities, forecasts }) {
  const service = elasticities?.find(isService)
  if (!service || forecasts.length === 0) return []
  const percent = 100 / budgets.cpu.whole.estimate
  const shareText = (/** @type {Figure} */ { estimate, low, high }) => {
    return `${intervalText({ estimate: percent * estimate, low: percent * low, high: percent * high })} %`
  }
  const [head, rows] = columnsOf(forecasts, [
    ['removed', ({ stage }) => (plan.slow_us[stage] ? `${stage} + ${plan.slow_us[stage]} us` : stage)],
    ['saves', ({ saved_us }) => shareText(saved_us)],
    ["Postgres' CPU", ({ postgres }) => (postgres.high === 0 ? 'none' : ratioText(postgres))],
    ['forecast', (one) => (isShared(one) ? NONE : ratioText(one.forecast))],
    ['measured', ({ measured }) => (measured.isLimited ? GENERATOR_LIMIT : ratioText(measured))],
    ['agree', agreementOf],
  ])
  const { suspect, elasticity, low, high } = service
  const about = `**Forecast against measured**: the throughput of ${proverOf(plan)} without a stage, as a ratio to the whole. The forecast follows from the share of the service's CPU that is saved and the elasticity of ${suspect}, ${elasticity} [${low ?? NONE}–${high ?? NONE}].`
  const shared = forecasts.filter(isShared).map(({ stage }) => stage)
  const except = `not for ${shared.join(' and ')}, whose removal certainly changes Postgres' CPU per request, too`
  return [
    paragraph([proofText({ elasticities }), ...undosedTexts(records)].join(' ')),
    ...titled(about, head, rows, { name: 'forecasts' }),
    paragraph(
      `The forecast holds for work that the service alone does: ${shared.length > 0 ? except : 'here for every stage'}.`,
    ),
  ]
}
