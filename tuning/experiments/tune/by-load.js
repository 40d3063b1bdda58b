import { list, table, titled } from '../../../load/report/blocks.js'
import { cellName, NONE, percent } from '../../../load/report/format.js'
import { meanOf } from '../../../load/verdict/ranks.js'
import { groupBy } from '../../stats/design.js'
import { digits, mainEffects, observationsOf, ratioText } from '../../stats/effects.js'
import { trialsAt } from '../../stats/matrix.js'
import { successOf } from '../../stats/measures.js'
import { OFFERED } from './presets.js'

/**
 * @import { Block } from '../../../load/report/blocks.js'
 * @import { Effect } from '../../stats/effects.js'
 * @import { Factor } from '../../stats/design.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

/** Measures that clients see at each load. @type {Record<string, (record: TrialRecord) => number | undefined>} */
const SEEN = { success: successOf, p99: ({ traffic }) => traffic.latency_ms?.p99 }
/** Outcomes of requests that do not succeed, by the names of statuses and errors. @type {Record<string, RegExp>} */
const LOST = {
  'answered with an error': /^[45]/,
  "no answer: the service's side": /^server:/,
  "no answer: the generator's side": /^client:/,
}
/** A smaller effect is not worth a sentence. */
const LEAST_RATIO = 1.1
/** Two levels do the same if larger effects are excluded; near the capacity, a p99 hardly repeats itself. @type {Record<string, number>} */
const SAME_RATIO = { success: 1.1, p99: 2 }
const KINDS = /** @type {(keyof typeof OFFERED)[]} */ (Object.keys(OFFERED))

/** @typedef {ReturnType<typeof effectsByLoad>[number]} LevelByLoad the effects of a level at each load */

/** @param {Factor[]} knobs @param {TrialRecord[]} records */
export function effectsByLoad(knobs, records) {
  const trials = KINDS.map((kind) => ({ kind, own: trialsAt(records, { kind }) }))
  const effectsOf = (/** @type {TrialRecord[]} */ own, /** @type {Factor} */ knob) => {
    return Object.entries(SEEN).flatMap(([seen, value]) => {
      return mainEffects(observationsOf(own, value), knob).map((effect) => ({ seen, ...effect }))
    })
  }
  return knobs.flatMap((knob) => {
    const known = trials.map(({ kind, own }) => ({ kind, own, effects: effectsOf(own, knob) }))
    return knob.levels.map((level) => ({
      name: knob.name,
      level,
      reference: knob.levels[0],
      loads: known.map(({ kind, own, effects }) => ({
        kind,
        effects: effects.filter((one) => one.level === level),
        lost: lostOf(own.filter(({ cell }) => cell[knob.name] === level)),
      })),
    }))
  })
}

/**
 * Failed requests as shares of all requests, by their outcome: the mean over the combinations, which count alike however often each was
 * measured. @param {TrialRecord[]} trials @returns {Record<string, number>}
 */
function lostOf(trials) {
  const combinations = [...groupBy(trials, ({ cell }) => cellName(cell ?? {})).values()]
  const shares = Object.entries(LOST).map(([where, pattern]) => {
    return [where, meanOf(combinations.map((own) => shareOf(own, pattern))) || 0]
  })
  return Object.fromEntries(shares)
}

/** Share of the requests that ended in a status or an error of that name. @param {TrialRecord[]} trials @param {RegExp} pattern */
function shareOf(trials, pattern) {
  const planned = trials.reduce((sum, { traffic }) => sum + traffic.planned, 0)
  const ends = trials.flatMap(({ traffic }) => Object.entries({ ...traffic.status, ...traffic.errors }))
  const number = ends.reduce((sum, [name, count]) => sum + (pattern.test(name) ? count : 0), 0)
  return planned > 0 ? number / planned : 0
}

/** Effects of each knob, in a sentence per level. @param {LevelByLoad[]} levels @param {Record<string, string>} reasons by knob @returns {Block[]} */
export function byLoadBlocks(levels, reasons) {
  const shares = KINDS.map((kind) => `${OFFERED[kind]}x`)
  const others = levels.filter(({ level, reference }) => level !== reference)
  const columns = Object.keys(SEEN).flatMap((seen) => shares.map((share) => `${seen} at ${share}`))
  const rows = others.map(({ name, level, reference, loads }) => [
    `${name}=${level}`,
    String(reference),
    ...Object.keys(SEEN).flatMap((seen) =>
      loads.map(({ effects }) => cellText(effects.find((one) => one.seen === seen))),
    ),
  ])
  const about = `Failed requests at ${OFFERED.above}x, as shares of all requests offered in the combinations with this level:`
  const losing = levels.flatMap(({ name, level, loads }) => {
    const { lost = {} } = loads.find(({ kind }) => kind === 'above') ?? {}
    return Object.values(lost).some((share) => share > 0)
      ? [[`${name}=${level}`, ...Object.values(lost).map(percent)]]
      : []
  })
  return [
    list([...groupBy(others, ({ name }) => name)].map(([name, own]) => sentence(name, own, reasons[name]))),
    table(['level', 'against', ...columns], rows, { name: 'by-load' }),
    ...titled(about, ['level', ...Object.keys(LOST)], losing, { name: 'lost' }),
  ]
}

/** @param {Effect | undefined} effect */
function cellText(effect) {
  if (!effect || Number.isNaN(effect.ratio)) return NONE
  const text = ratioText(effect)
  return effect.tied && isKnown(effect) ? `tied ${text.slice(text.indexOf('['))}` : text
}

/** @param {string} name @param {LevelByLoad[]} levels @param {string} [reason] */
function sentence(name, levels, reason) {
  const said = levels.map(({ level, reference, loads }) => {
    const moves = loads.flatMap(({ kind, effects }) =>
      effects.filter(matters).map((one) => ({ ...one, share: OFFERED[kind] })),
    )
    if (moves.length === 0 && !loads.some(({ effects }) => effects.some(isKnown)))
      return `${level} instead of ${reference}: not decided, for too few pairs`
    const isLike = loads.every(({ effects }) => effects.every(isSame))
    if (moves.length === 0)
      return isLike
        ? `${level} does what ${reference} does`
        : `${level} instead of ${reference}: no clear effect of a tenth or more`
    const parts = Object.keys(SEEN).flatMap((seen) => {
      const own = moves.filter((one) => one.seen === seen)
      return own.length === 0
        ? []
        : `${seen} ${own.map(({ ratio, share }) => `${digits(ratio)}x at ${share}x`).join(', ')}`
    })
    return `${level} instead of ${reference}: ${parts.join('; ')}`
  })
  const isIdle = levels.every(({ loads }) => {
    const all = loads.flatMap(({ effects }) => effects)
    return all.some(isKnown) && all.every((one) => isSame(one) && !matters(one))
  })
  const what = isIdle ? 'does nothing here' : said.join('. ')
  return `${name}: ${what}.${reason ? ` ${reason}` : ''}`
}

/** Whether there are enough pairs for an interval. @param {Effect} effect */
function isKnown({ high }) {
  return Number.isFinite(high)
}

/** Whether the level does the same as its reference; an unknown effect is not in question. @param {Effect & { seen: string }} effect */
function isSame(effect) {
  const most = SAME_RATIO[effect.seen]
  return !isKnown(effect) || (effect.low >= 1 / most && effect.high <= most)
}

/** @param {Effect} effect */
function matters({ tied, ratio, high }) {
  return !tied && Number.isFinite(high) && Math.abs(Math.log(ratio)) >= Math.log(LEAST_RATIO)
}
