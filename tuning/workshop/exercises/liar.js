import { milliseconds, percent, wholePercent } from '../../../load/report/format.js'
import { CORE_FULL_RATIO } from '../../../load/verdict/detectors/finding.js'
import { figure, limitText } from '../evidence.js'
import { choice, closed, FAR, goodput, number, offered, ofPeak } from '../kit.js'

/**
 * @import { Found, Rules } from '../exercise.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

const SERVICE = { INSERT_MODE: 'batched' }

/** Without vegeta: a service with room, and a generator with two connections. */
const STAND_IN = { ...FAR, POOL_MAX: 20 }
const TOO_FEW = 2
const NEEDED = 100

/** Of the peak, so that the service has room. The stand-in fails by arithmetic, vegeta needs something to do. */
const SHARE = { vegeta: 0.7, standIn: 0.3 }

/** From this share on, the rate counts as kept. */
const KEPT = 0.8
const LEAST_SUCCESS = 0.99

/** Or from this multiple of the goodput before. */
const BETTER = 1.5

/** @type {Rules} */
export const liar = {
  differs: ({ vegeta }) => !vegeta,
  before: ({ vegeta }) => [closed('peak', vegeta ? SERVICE : STAND_IN, 64)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(rateOf(found)) }),
  predict: { kind: choice, solution: () => 'generator', wrong: () => 'api-cpu' },
  first: (found) => {
    const { vegeta } = found.facts
    const cell = vegeta ? { ...SERVICE, GENERATOR: 'vegeta-unbounded' } : STAND_IN
    const few = { connections: TOO_FEW, connections_needed: NEEDED }
    return [offered('as told', cell, rateOf(found), { ...(vegeta ? { connections: 256 } : few), countsAlways: true })]
  },
  rows: { peak: 'peak', 'as told': 'as told', yours: 'again' },
  columns: ['offered', 'goodput/s', 'success', 'p99', 'no answer', 'API core', 'generator'],
  notes: {
    'as told': (trial) => {
      const [late_ms, queued_ms] = [trial.probes.generator.lateness_ms?.p99, trial.traffic.queued_ms?.mean]
      const late = `The generator was ${milliseconds(late_ms)} late at p99`
      return [limitText(trial), `${late}; it waited ${milliseconds(queued_ms)} to send, on the average.`]
    },
  },
  compare: ({ trials, answers }) => {
    const { limit, outcome, probes } = trials['as told']
    if (keptOf(trials['as told']) >= KEPT && outcome.verdict === 'pass') {
      return {
        right: false,
        text: 'This time the rate was kept, and nothing was at its limit: it does not lie every time.',
      }
    }
    const core = probes.api.cpu_core_ratio ?? 0
    const isGenerators = outcome.blame === 'generator' || limit.resource.startsWith('generator')
    const happened = isGenerators || core < CORE_FULL_RATIO ? 'generator' : limit.resource
    const text = `It was: ${happened}. The core of the service was ${wholePercent(core)} full.`
    return { right: answers.predict === happened, text }
  },
  turn: { kind: number('connections', 1, 2000), solution: () => String(NEEDED), wrong: () => '1' },
  again: (found) => {
    const cell = found.facts.vegeta ? { ...SERVICE, GENERATOR: 'vegeta' } : STAND_IN
    return [offered('again', cell, rateOf(found), { connections: found.answers.turn, countsAlways: true })]
  },
  outcome: ({ trials }) => {
    const { traffic, load } = trials.again
    const isBetter = traffic.goodput_rps >= BETTER * trials['as told'].traffic.goodput_rps
    return {
      solved: traffic.success_ratio >= LEAST_SUCCESS && (keptOf(trials.again) >= KEPT || isBetter),
      because: `${percent(traffic.success_ratio)} succeeded, at ${figure(traffic.goodput_rps)}/s of ${figure(Number(load.rate_rps))}/s (${figure(trials['as told'].traffic.goodput_rps)}/s before)`,
    }
  },
}

/** The share of the rate that was kept. @param {TrialRecord} trial */
function keptOf({ traffic, load }) {
  return traffic.goodput_rps / Number(load.rate_rps)
}

/** @param {Found} found */
function rateOf(found) {
  return ofPeak(found, found.facts.vegeta ? SHARE.vegeta : SHARE.standIn)
}
