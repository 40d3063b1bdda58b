import { KNOBS } from '../../knobs/knobs.js'
import { mainEffects, noiseOf } from '../../stats/effects.js'
import { observationsOf, RESPONSES } from './observations.js'

/**
 * @import { TrialRecord } from '../../../load/run/trial.js'
 * @import { Effect } from '../../stats/effects.js'
 * @import { Response } from './observations.js'
 * @import { TunePlan } from './steps.js'
 */

/**
 * The level of each knob that lets most through or, where that is a tie, answers soonest beyond the reference's capacity
 * or, where that is one too, costs least CPU; where all are, the reference stays. What costs something else (durability, a
 * log) is never recommended. Pure.
 *
 * @param {Pick<TunePlan, 'knobs'>} plan
 * @param {TrialRecord[]} records
 * @returns {{ levels: Record<string, string>, choices: Choice[] }}
 *
 * @typedef {object} Choice
 * @property {string} name
 * @property {string} level
 * @property {keyof typeof RESPONSES | null} by what it is better in; null: it is the reference
 * @property {Effect | null} effect
 */
export function recommendationOf({ knobs }, records) {
  const known = Object.entries(RESPONSES).map(([name, response]) => {
    const observations = observationsOf(response, records)
    return { name: /** @type {keyof typeof RESPONSES} */ (name), response, observations, noise: noiseOf(observations) }
  })
  const choices = knobs.map((knob) => {
    const reference = { name: knob.name, level: knob.levels[0], by: null, effect: null }
    if (!KNOBS[knob.name].advised) return reference
    let candidates = knob.levels.slice(1)
    for (const { name, response, observations, noise } of known) {
      const effects = mainEffects(observations, knob, noise).filter(({ level }) => candidates.includes(level))
      const [best] = effects
        .filter((effect) => isBetter(effect, response))
        .sort((a, b) => gainOf(b, response) - gainOf(a, response))
      if (best) return { name: knob.name, level: best.level, by: name, effect: best }
      candidates = effects.filter(({ tied, pairs }) => tied && pairs > 0).map(({ level }) => level)
    }
    return reference
  })
  return { levels: Object.fromEntries(choices.map(({ name, level }) => [name, level])), choices }
}

/** @param {Effect} effect @param {Response} response */
function isBetter(effect, response) {
  return !effect.tied && gainOf(effect, response) > 1
}

/** @param {Effect} effect @param {Response} response */
function gainOf({ ratio }, { better }) {
  return better === 'more' ? ratio : 1 / ratio
}

/**
 * Settings as a file that the API takes as its `.env`.
 *
 * @param {Record<string, string>} levels
 * @param {string[]} notes lines for its top
 * @returns {string}
 */
export function envFile(levels, notes) {
  const lines = Object.entries(levels).map(([name, level]) => {
    if (KNOBS[name].by === 'environment') return `${name}=${level}`
    if (KNOBS[name].by === 'flag') return `# ${name}=${level}: node --max-semi-space-size=${level}`
    return `# ${name}=${level}: not a setting of the API (${KNOBS[name].about})`
  })
  return `${[...notes.map((note) => `# ${note}`), ...lines].join('\n')}\n`
}
