import { figure, milliseconds, percent, wholePercent } from '../../../load/report/format.js'
import { CORE_FULL_RATIO } from '../../../load/verdict/detectors/finding.js'
import { choice, number } from '../answers.js'
import { closed, FAR, goodput, limitText, offered, ofPeak } from '../kit.js'

/** @import { Facts, Found, Rules } from '../exercise.js' */

const SERVICE = { INSERT_MODE: 'batched' }
const NEEDED = 100

/** vegeta with its own defaults, at a share of the peak that leaves the service headroom. */
const VEGETA = {
  service: SERVICE,
  share: 0.7,
  lie: { cell: { ...SERVICE, GENERATOR: 'vegeta-unbounded' }, load: { connections: 256 } },
  truth: { ...SERVICE, GENERATOR: 'vegeta' },
}

/** Stand-in without vegeta: our generator with two connections, which are too few by arithmetic, and a service with headroom. */
const ROOMY = { ...FAR, POOL_MAX: 20 }
const STAND_IN = {
  service: ROOMY,
  share: 0.3,
  lie: { cell: ROOMY, load: { connections: 2, connections_needed: NEEDED } },
  truth: ROOMY,
}

/** A rate counts as kept from this share of it, or from this multiple of the earlier goodput. */
const KEPT = 0.8
const BETTER = 1.5
const LEAST_SUCCESS = 0.99

/** @type {Rules} */
export const liar = {
  differs: ({ vegeta }) => !vegeta,
  before: (facts) => closed('peak', generatorOf(facts).service, 64),
  predict: {
    kind: choice,
    solution: () => 'generator',
    wrong: 'api-cpu',
    compare: (found) => {
      const { limit, outcome, probes } = found.trials['as told']
      if (keptOf(found, 'as told') >= KEPT && outcome.verdict === 'pass') {
        const text = 'This time the rate was kept and nothing was at its limit: the generator does not lie every time.'
        return { right: false, text }
      }
      const core = probes.api.cpu_core_ratio ?? 0
      const isGenerators = outcome.blame === 'generator' || limit.resource.startsWith('generator')
      const happened = isGenerators || core < CORE_FULL_RATIO ? 'generator' : limit.resource
      const text = `It was: ${happened}. The utilization of the service's core was ${wholePercent(core)}.`
      return { right: found.answers.predict === happened, text }
    },
  },
  first: (found) => {
    const { cell, load } = generatorOf(found.facts).lie
    return [offered('as told', cell, rateOf(found), { ...load, countsAlways: true })]
  },
  columns: ['offered', 'goodput/s', 'success', 'p99', 'no answer', 'API core', 'generator'],
  notes: {
    'as told': (trial) => {
      const [late_ms, queued_ms] = [trial.probes.generator.lateness_ms?.p99, trial.traffic.queued_ms?.mean]
      const late = `The generator was ${milliseconds(late_ms)} late at p99`
      return [limitText(trial), `${late}; a request waited ${milliseconds(queued_ms)} in it on average.`]
    },
  },
  turn: { kind: number('connections', 1, 2000), solution: () => String(NEEDED), wrong: '1' },
  again: (found) => {
    const load = { connections: found.answers.turn, countsAlways: true }
    return [offered('again', generatorOf(found.facts).truth, rateOf(found), load)]
  },
  outcome: (found) => {
    const { traffic, load } = found.trials.again
    const before_rps = goodput(found, 'as told')
    // The stand-in holds requests back instead of losing them, for any number of connections that is too small.
    const isBetter = found.facts.vegeta && traffic.goodput_rps >= BETTER * before_rps
    return {
      solved: traffic.success_ratio >= LEAST_SUCCESS && (keptOf(found, 'again') >= KEPT || isBetter),
      because: `${percent(traffic.success_ratio)} succeeded, at ${figure(traffic.goodput_rps)}/s of ${figure(Number(load.rate_rps))}/s (${figure(before_rps)}/s before)`,
    }
  },
}

/** @param {Facts} facts */
function generatorOf({ vegeta }) {
  return vegeta ? VEGETA : STAND_IN
}

/** The share of the rate that was kept. @param {Found} found @param {string} name of the measurement */
function keptOf(found, name) {
  return goodput(found, name) / Number(found.trials[name].load.rate_rps)
}

/** @param {Found} found */
function rateOf(found) {
  return ofPeak(found, generatorOf(found.facts).share)
}
