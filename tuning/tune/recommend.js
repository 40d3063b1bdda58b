import { mainEffects, noiseOf } from '../effects.js'
import { KNOBS } from '../knobs.js'
import { observationsOf, RESPONSES } from './observations.js'

/**
 * The level of each knob that lets most through or, where that is a tie, costs least CPU; where both are, the reference
 * stays. What costs something else (durability, a log) is never recommended. Pure.
 *
 * @param {Pick<import('./steps.js').TunePlan, 'knobs'>} plan
 * @param {import('../../load/trial.js').TrialRecord[]} records
 * @returns {{ levels: Record<string, string>, choices: Choice[] }}
 *
 * @typedef {object} Choice
 * @property {string} name
 * @property {string} level
 * @property {'goodput' | 'cpu' | null} by what it is better in; null: it is the reference
 * @property {import('../effects.js').Effect | null} effect
 */
export function recommendationOf({ knobs }, records) {
  const [goodput, cpu] = [RESPONSES.goodput, RESPONSES.cpu].map((response) => {
    const observations = observationsOf(response, records)
    return { observations, noise: noiseOf(observations) }
  })
  const choices = knobs.map((knob) => {
    const reference = { name: knob.name, level: knob.levels[0], by: null, effect: null }
    if (!KNOBS[knob.name].advised) return reference
    const through = mainEffects(goodput.observations, knob, goodput.noise)
    const cost = mainEffects(cpu.observations, knob, cpu.noise)
    const best = through.filter(({ tied, ratio }) => !tied && ratio > 1).sort((a, b) => b.ratio - a.ratio)[0]
    if (best) return { name: knob.name, level: best.level, by: /** @type {const} */ ('goodput'), effect: best }
    const notWorse = through.filter(({ tied, pairs }) => tied && pairs > 0).map(({ level }) => level)
    const cheapest = cost
      .filter(({ tied, ratio, level }) => !tied && ratio < 1 && notWorse.includes(level))
      .sort((a, b) => a.ratio - b.ratio)[0]
    return cheapest
      ? { name: knob.name, level: cheapest.level, by: /** @type {const} */ ('cpu'), effect: cheapest }
      : reference
  })
  return { levels: Object.fromEntries(choices.map(({ name, level }) => [name, level])), choices }
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
