import { milliseconds, percent, wholePercent } from '../../../load/report/format.js'
import { CORE_FULL_RATIO } from '../../../load/verdict/detectors/finding.js'
import { figure, limitText } from '../evidence.js'
import { choice, number } from '../exercise.js'
import { closed, FAR, goodput, offered, rounded } from '../loads.js'

/**
 * @import { Exercise, Found } from '../exercise.js'
 * @import { TrialRecord } from '../../../load/report/record.js'
 */

const SERVICE = { INSERT_MODE: 'batched' }

/** Where there is no vegeta: a service that has time, and a generator with two connections. */
const STAND_IN = { ...FAR, POOL_MAX: 20 }
const TOO_FEW = 2

/** Of what the service takes: it has room. The stand-in fails by arithmetic, vegeta needs something to do. */
const SHARE = { vegeta: 0.7, standIn: 0.3 }

/** Of the rate: it was kept. */
const KEPT = 0.8
const LEAST_SUCCESS = 0.99

/** Times what got through before. */
const BETTER = 1.5

/** @type {Exercise} */
export const liar = {
  id: 'liar',
  title: 'The generator that lied',
  minutes: 6,
  needs: 'Open loop: the rate is the schedule of the generator, whatever the service does.',
  lesson: 'The generator is part of the measurement: look at its own core, its connections and whose errors they are.',
  symptoms: [
    'A team measures a service with a well-known tool and its defaults. The report: a fraction of the rate, latencies of seconds. They order a larger machine for the service.',
    'The service took clearly more than that rate in a closed loop, a minute before, on the same machine.',
  ],
  remark: ({ vegeta }) =>
    vegeta
      ? null
      : 'vegeta is not there (`npm run vegeta` builds it, with Go 1.22 or newer). It goes on with a generator of ours that has too few connections: the lie is another, the lesson the same.',
  before: ({ vegeta }) => [closed('peak', vegeta ? SERVICE : STAND_IN, 64)],
  figures: (found) => ({ peak: figure(goodput(found, 'peak')), rate: figure(rateOf(found)) }),
  predict: {
    text: 'In a closed loop the service got {peak}/s done. The tool offers {rate}/s of the same, and reports seconds. What is at its limit?',
    kind: choice({
      'api-cpu': 'the core of the service',
      'postgres-cpu': 'the cores of Postgres',
      'pool-size': 'the connections of the pool',
      generator: 'the generator itself',
    }),
    hints: [
      'What is different from the minute before? Not the service, and not the rate, which is smaller.',
      'Look for the one who is busy with itself. It may be the one who tells the story.',
    ],
    solution: () => 'd',
    wrong: () => 'a',
  },
  first: (found) => {
    const { vegeta } = found.facts
    const cell = vegeta ? { ...SERVICE, GENERATOR: 'vegeta-unbounded' } : STAND_IN
    return [offered('as told', cell, rateOf(found), { connections: vegeta ? 256 : TOO_FEW, countsAlways: true })]
  },
  rows: { peak: 'peak', 'as told': 'as told', yours: 'again' },
  columns: ['offered', 'goodput/s', 'success', 'p99', 'no answer', 'API core', 'generator'],
  notes: {
    of: 'as told',
    lines: (trial) => {
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
  turn: {
    text: 'The same rate, the same service, and the generator may have so many connections and no more. How many?',
    kind: number('connections', 1, 2000),
    hints: [
      'Too few, and requests wait in the generator. Without bound, it opens a socket for each that waits, and that is work.',
      "Little's law again: connections in use = rate x time of an answer. At some thousand a second and a few milliseconds, that is some ten. Give it room: a hundred.",
    ],
    solution: () => '100',
    wrong: () => '1',
  },
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
  discussion: [
    'The service was never asked for what the report says. The tool had its own core to fill: with its defaults it opens a connection for every request that finds none free, and each costs the kernel more than the request costs the service.',
    'Errors have a side. `bind: address already in use` and "too many open files" at the client are the client\'s; a reset is the server\'s. A report that counts both as "failed" hides who failed.',
    'Before any measurement: how much can the generator do against a server that does nothing? `npm run sweep` measures that first, and calls a trial invalid in which the generator was the limit.',
  ],
}

/** Of what was offered. @param {TrialRecord} trial */
function keptOf({ traffic, load }) {
  return traffic.goodput_rps / Number(load.rate_rps)
}

/** @param {Found} found */
function rateOf(found) {
  return rounded((found.facts.vegeta ? SHARE.vegeta : SHARE.standIn) * goodput(found, 'peak'))
}
