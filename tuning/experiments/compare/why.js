import { isValid } from '../../../load/capacity/ladder.js'
import { changeText, DOSE, effectText, undosedTexts } from '../../../load/report/proof.js'
import { ledgerOf } from '../../../load/verdict/ledger.js'
import { elasticitiesOf, provenBy } from '../../../load/verdict/proof.js'
import { median } from '../../../load/verdict/ranks.js'
import { isOurs, SIDES } from './design.js'

/**
 * @import { ComparePlan, Records } from './design.js'
 * @import { Difference } from './differences.js'
 */

/** @typedef {{ name: string, proof: Proof | null }} Side @typedef {NonNullable<ReturnType<typeof proofOf>>} Proof */

/** The limit of a side according to the doses, or null if nothing was dosed. @param {Records} own of one side */
export function proofOf(own) {
  const trials = own.filter((record) => record.at.phase === 'proof' && isValid(record))
  if (trials.length === 0) return null
  const costs = trials.filter(({ doses }) => doses).flatMap(ledgerOf)
  const elasticities = elasticitiesOf(trials).map((one) => {
    return { ...one, demand_us: median(costs.flatMap((cost) => (cost.resource === one.suspect ? cost.demand_us : []))) }
  })
  return { ...provenBy(trials), elasticities, undosed: undosedTexts(trials) }
}

/** Says why one maximum is higher. @param {Difference[]} differences @param {Side[]} sides @returns {string | null} null without doses */
export function whyText(differences, sides) {
  const limits = sides.flatMap(limitText)
  if (limits.length === 0) return null
  const maximum = differences.at(-1)
  const isApart = maximum?.because === '' && !maximum.tied
  if (!isApart || limits.length < sides.length) return `${limits.join('. ')}.`
  const [slower, faster] = maximum.ratio > 1 ? sides : sides.toReversed()
  const [there, ...work] = elsewhereTexts(slower, faster)
  const limit = [...limitText(slower), ...(there ? [there] : [])].join('; ')
  const why = ['none', 'undecided'].includes(String(slower.proof?.kind)) ? ' is not proven.' : ':'
  return `Why ${faster.name} is faster${why} ${[limit, ...work, ...limitText(faster)].join('. ')}.`
}

/** @param {Side} side */
function limitText({ name, proof }) {
  if (!proof) return []
  const { kind, suspects } = proof
  const changes = suspects.map(changeText).join(', ')
  if (kind === 'lock-step') return [`${name} is limited by several resources that take turns: ${changes}`]
  if (kind === 'tie') return [`${name} is limited by several resources that are full: ${changes}`]
  if (kind === 'none') return [`Nothing that was slowed limits ${name}`]
  if (kind === 'undecided') return [`The doses do not decide what limits ${name}`]
  const [limit] = suspects
  if (limit.factor) return [`${name} is limited by its pool: ${changes}`]
  return [`${name} is limited by ${limit.suspect}: slowing it by ${DOSE * 100} % ${effectText(limit)}`]
}

/** The chapters of the playbook on what limits a side; none if that is not known. @param {Side} side */
export function chapterTexts({ name, proof }) {
  if (!proof || ['none', 'undecided'].includes(proof.kind)) return []
  const limits = proof.kind === 'lock-step' ? [proof.kind] : proof.suspects.map(({ resource }) => resource)
  const chapters = [...new Set(limits)].map((resource) => `tuning/PLAYBOOK.md#${resource}`)
  return [`What to change in ${name}: ${chapters.join(', ')}.`]
}

/** The effect of one side's limit on the other, and a request's demand for it on both. @param {Side} slower @param {Side} faster */
function elsewhereTexts(slower, faster) {
  // Several limits have no single counterpart.
  const [limit] = slower.proof?.kind === 'full' ? slower.proof.suspects : []
  const [own, there] = [slower, faster].map(({ proof }) => {
    return proof?.elasticities.find(({ suspect }) => suspect === limit?.suspect)
  })
  if (!own || !there) return []
  const effect = `in ${faster.name} that ${effectText(there)}`
  if (!Number.isFinite(own.demand_us + there.demand_us)) return [effect]
  const [most, least] = [own, there].map(({ demand_us }) => `${demand_us.toFixed(0)} us`)
  return [effect, `A request takes ${most} of ${limit.suspect} in ${slower.name}, ${least} in ${faster.name}`]
}

/** The sides without a proof, and the reason, or null if all have one or the run's version proved nothing. @param {ComparePlan} plan */
export function unprovenText(plan) {
  const theirs = SIDES.filter((side) => !isOurs(plan, side)).map((side) => side.toUpperCase())
  const isLeftOut = plan.proves === false && theirs.length < SIDES.length
  if (isLeftOut) return 'What limits each side is not proven (--quick or --no-proof).'
  if (!plan.proves || theirs.length === 0) return null
  return `What limits ${theirs.join(' and ')} is not proven: the processes behind a URL are not known.`
}
