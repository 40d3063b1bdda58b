import { isValid } from '../../load/capacity/ladder.js'

/** @import { TrialRecord } from '../../load/run/trial.js' */

/** @typedef {TrialRecord} Trial */

/**
 * By the name of the measurement, the trial that counts: of the last round, the first that says something, else the last.
 *
 * @param {Trial[]} records
 * @returns {Record<string, Trial>}
 */
export function trialsByName(records) {
  /** @type {Record<string, { round: number, trial: Trial }>} */
  const found = {}
  for (const trial of records) {
    const [name, round] = trial.experiment.split('#')
    const known = found[name]
    const isLater = !known || Number(round) > known.round
    if (isLater || !isValid(known.trial)) found[name] = { round: Number(round), trial }
  }
  return Object.fromEntries(Object.entries(found).map(([name, { trial }]) => [name, trial]))
}
