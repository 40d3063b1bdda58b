import { setImmediate } from 'node:timers/promises'
import { seededRandom } from '../../../load/system/random.js'
import { BALANCERS } from './balancers.js'
import { answerOf, PLAIN, unevenEndpoints } from './endpoints.js'
import { fewSamples, gainsOf, quantilesOf } from './published.js'

/**
 * @import { Parameters, Seen, Strategy } from './balancers.js'
 * @import { Endpoint } from './endpoints.js'
 * @import { BalancePlan } from './balance.js'
 * @typedef {Awaited<ReturnType<typeof simulateAll>>} Simulation
 * @typedef {(seed: number) => ((now_ms: number) => Endpoint)[]} Create makes endpoints that may change with time
 */

/** Chosen so that no compared quantile lies in the gap between cached and cold answers. */
const CACHED_RATIO = 0.4

/** Mean length of a spell in which an endpoint has most, or few, of its answers cached, and the cached share in each. */
const SPELL_S = 60
const WARM_RATIO = 0.9
const CHILLED_RATIO = 0.1

/** Answers between two checks of the signal. */
const ANSWERS = 5000

/** Simulates both strategies in every made-up world. @param {BalancePlan} plan @param {AbortSignal} signal */
export async function simulateAll({ endpoints, slow, samples, workers, parameters, mix: { seed } }, signal) {
  const found = []
  for (const count of workers) {
    for (const { name, about, create } of worlds(endpoints, slow)) {
      const options = { create, samples, workers: count, parameters, seed }
      const round_robin = await simulate({ ...options, strategy: 'round-robin' }, signal)
      const adaptive = await simulate({ ...options, strategy: 'adaptive' }, signal)
      const gains = gainsOf(round_robin, adaptive)
      found.push({ world: name, about, workers: count, round_robin, adaptive, gains })
    }
  }
  return { worlds: found, few: fewSamples(seed) }
}

/** Made-up worlds. @param {number} count @param {BalancePlan['slow']} slow @returns {{ name: string, about: string, create: Create }[]} */
export function worlds(count, slow) {
  const uneven = unevenEndpoints(count, slow)
  return [
    {
      name: 'equal, no memory',
      about: `every answer of every endpoint is cached in ${CACHED_RATIO * 100} of 100 cases, regardless of the one before it`,
      create: () => uneven.map(() => () => ({ ...PLAIN, cached_ratio: CACHED_RATIO })),
    },
    {
      name: 'equal, with spells',
      about: `alike in the long run, but each has spells of ${SPELL_S} s on average in which its answers are mostly cached, or mostly cold`,
      create: (seed) => uneven.map((_, i) => spells(seededRandom(seed * 1009 + i))),
    },
    {
      name: 'uneven',
      about: `like the endpoints that run here: ${uneven.map(({ name }) => name).join(', ')}`,
      create: () => uneven.map((endpoint) => () => endpoint),
    },
  ]
}

/** An endpoint whose spells end at random times, however often it is asked. @param {() => number} random */
function spells(random) {
  const spell_ms = () => -Math.log(1 - random()) * SPELL_S * 1000
  let isWarm = random() < 0.5
  let until_ms = spell_ms()
  return (/** @type {number} */ now_ms) => {
    for (; until_ms <= now_ms; until_ms += spell_ms()) isWarm = !isWarm
    return { ...PLAIN, cached_ratio: isWarm ? WARM_RATIO : CHILLED_RATIO }
  }
}

/**
 * Runs a balancer in front of simulated endpoints, on a virtual clock: each worker sends its next request when its answer arrives.
 * Quantiles are those of the successes; digest_error_ratio: of the balancer's digest at the end.
 * @param {{ strategy: Strategy, create: Create, samples: number, workers: number, parameters: Parameters, seed: number }} options
 * @param {AbortSignal} [signal] aborts it
 */
export async function simulate({ strategy, create, samples, workers, parameters, seed }, signal) {
  const random = seededRandom(seed)
  const endpoints = create(seed)
  const balancer = BALANCERS[strategy](endpoints.length, parameters)
  /** @type {number[]} */
  const latencies_ms = []
  /** Errors included, which the balancer's digest holds, too. @type {number[]} */
  const all_ms = []
  let seen = /** @type {Seen | null} */ (null)
  let [sent, now_ms] = [0, 0]
  const send = () => {
    const endpoint = balancer.choose()
    sent++
    const answer = answerOf(endpoints[endpoint](now_ms), { failing: false, random })
    return { endpoint, ...answer, ends_ms: now_ms + answer.latency_ms }
  }
  const inFlight = Array.from({ length: Math.min(workers, samples) }, send)
  for (let answered = 1; answered <= samples; answered++) {
    const next = inFlight.reduce((first, one) => (one.ends_ms < first.ends_ms ? one : first))
    now_ms = next.ends_ms
    if (next.status < 400) latencies_ms.push(next.latency_ms)
    all_ms.push(next.latency_ms)
    seen = balancer.answered(next)
    const i = inFlight.indexOf(next)
    if (sent < samples) inFlight[i] = send()
    else inFlight.splice(i, 1)
    if (answered % ANSWERS === 0) await setImmediate(undefined, { signal })
  }
  const error_ratio = (samples - latencies_ms.length) / samples
  return { ...quantilesOf(latencies_ms), error_ratio, ...(seen && { digest_error_ratio: digestError(seen, all_ms) }) }
}

/** The larger of the relative errors of a digest's two percentiles. @param {Seen} seen @param {number[]} latencies_ms that it holds */
export function digestError({ median_ms, p95_ms }, latencies_ms) {
  const exact = quantilesOf(latencies_ms)
  return Math.max(Math.abs(median_ms / exact.p50_ms - 1), Math.abs(p95_ms / exact.p95_ms - 1))
}
