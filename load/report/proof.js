import { drawn, heading, paragraph } from './blocks.js'

/**
 * @import { Block } from './blocks.js'
 * @import { Picture } from './picture.js'
 * @import { Elasticity, TrialRecord } from './record.js'
 */

/** The dose that sentences quote. */
export const DOSE = 0.1
const COMMIT = 'postgres-commit'

/** @typedef {{ elasticities?: Elasticity[] }} Proof effect of each dose; none if nothing was dosed */

/** The cost of each dose; null if nothing was dosed. @param {Proof} proof @param {string} [name] of the proof, if there are several */
export function proofText({ elasticities = [] }, name = 'Proof') {
  if (elasticities.length === 0) return null
  return `${name}, in throughput [95 % interval]: ${elasticities.map(changeText).join('; ')}.`
}

/** slowing Postgres by 10 % costs 11 % [9–12] @param {Elasticity} elasticity */
export function changeText(elasticity) {
  const { suspect, factor, undosed } = elasticity
  if (factor) return `${suspect} ${effectText(elasticity)} (elasticity ${elasticity.elasticity})`
  const doing = undosed ? `not slowing ${suspect}` : `slowing ${suspect} by ${DOSE * 100} %`
  return elasticity.low === null ? `${doing}: too few pairs to tell` : `${doing} ${effectText(elasticity)}`
}

/** Effect of the dose, or of the larger pool, on the throughput: costs 11 % [9–12] @param {Elasticity} elasticity */
export function effectText({ elasticity, low, high, factor }) {
  const gainOf = (/** @type {number} */ value) => Math.round(((factor ?? 1 - DOSE) ** value - 1) * 100)
  const gain = gainOf(elasticity)
  const isGain = gain > 0 || (gain === 0 && Boolean(factor))
  const ends = [low, elasticity, high].map((value) => (isGain ? 1 : -1) * gainOf(Number(value)))
  const effect = `${isGain ? 'gains' : 'costs'} ${ends[1]} %`
  if (low === null || high === null) return `${effect} [too few pairs]`
  const [least, most] = [Math.min(...ends), Math.max(...ends)]
  return `${effect} [${least}${least < 0 ? ' to ' : '–'}${most}]`
}

/** Suspects that were not slowed, and why. @param {Pick<TrialRecord, 'doses' | 'limit' | 'probes' | 'load' | 'target'>[]} records of a search and its proof */
export function undosedTexts(records) {
  const waiting = records.findLast(({ limit, probes }) => limit?.resource === COMMIT && probes.postgres?.commit_problem)
  const undosed = records
    .flatMap(({ doses = [] }) => doses)
    .filter(({ share, taken_ratio }) => share > 0 && taken_ratio === 0)
    .map(({ suspect }) => suspect)
  const isHidden = records.some(({ doses, probes }) => doses && probes.postgres?.commits && !probes.postgres.cores)
  const reasons = [
    ...[...new Set(undosed)].map((suspect) => `${suspect}, whose processes we may not stop`),
    isHidden && 'Postgres, whose processes this machine cannot see',
    records.some(({ doses, target }) => doses && target.kind === 'ssh') &&
      "the path to Postgres, since the program that slows it would run on the service's host",
    records.some(({ load }) => load.load_hosts) && "the load hosts, since the proof's load comes from this machine",
    waiting && `the commit, since ${waiting.probes.postgres.commit_problem}`,
  ]
  return reasons.filter(Boolean).map((reason) => `Not slowed: ${reason}.`)
}

/** The elasticities as bars; null if nothing was dosed. @param {Proof} proof @param {string} [of] name of the target, if several @returns {Picture | null} */
export function proofPicture({ elasticities = [] }, of) {
  if (elasticities.length === 0) return null
  const values = elasticities.map(({ elasticity, low, high }) => {
    return low === null || high === null ? { value: elasticity } : { value: elasticity, low, high }
  })
  const least = Math.min(0, ...elasticities.flatMap(({ low }) => low ?? []))
  const pairs = Math.max(...elasticities.map((one) => one.pairs))
  const enlarged = elasticities.some(({ factor }) => factor)
    ? ' A larger pool, or a longer path to the database, was tried in whole trials instead.'
    : ''
  return {
    name: of ? `elasticities-${of.toLowerCase()}` : 'elasticities',
    title: `What moves the throughput${of ? ` of ${of}` : ''}`,
    about: `How closely the throughput follows each suspect's speed (its elasticity): about 1 for the bottleneck, about 0 for a resource with time to spare. The lines are 95 % intervals, by ranks. They come from up to ${pairs} pairs, each of a short stretch of the load in which the suspect was slowed and the stretch next to it.${enlarged}`,
    form: {
      kind: 'dots',
      x: { title: 'elasticity', unit: 'number', min: Math.floor(2 * least) / 2 },
      labels: elasticities.map(({ suspect }) => suspect),
      series: [{ name: 'elasticity', values }],
      reference: 0,
      bars: true,
    },
  }
}

/** @param {Proof} proof @returns {Block[]} */
export function proofBlocks(proof) {
  const picture = proofPicture(proof)
  return picture ? [heading('Proof by dose', { detail: true }), paragraph(picture.about), drawn(picture)] : []
}
