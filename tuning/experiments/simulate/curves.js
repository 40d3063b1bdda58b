import { normal } from '../../../load/system/random.js'

/**
 * Synthetic services, each with a known capacity, to measure the search against. A trial's score is ln(p99 / SLO); x is
 * ln(rate / capacity).
 *
 * @typedef {() => number} Random the next number in [0, 1)
 *
 * @typedef {object} Service
 * @property {number} plateau_rps what a closed loop would tell
 * @property {(trial: { rate_rps: number, duration_s: number }) => { verdict: 'pass' | 'fail' | 'invalid', score: number }} trial
 * @property {() => number} capacity_rps the rate that passes half of the trials which meet no stall
 * @property {number} [reach_rps] beyond this rate the generator is the limit
 */

/** @type {Record<string, ReturnType<typeof curve>>} */
export const CURVES = {
  cliff: curve(
    'far below the SLO up to the capacity, far above it beyond; capacity ± 1 % from trial to trial',
    (random) => (x) => cliff(x + 0.01 * normal(random), random),
  ),
  slope: curve('p99 rises by 8 % for each 1 % of rate; verdicts are noisy within ± 3 %', slope),
  noisy: curve('the same, noisy within ± 8 %', (random) => slope(random, 0.64)),
  bistable: curve(
    'a trial either goes well or collapses; from 10 % below the capacity to 10 % above, ever more of them do',
    (random) => (x) => (random() < logistic(x / 0.035) ? 2 : -1) + 0.2 * normal(random),
  ),
  outliers: curve('slope, and 4 % of the trials meet a stall that makes them fail at any rate', (random) => (x) => {
    const score = slope(random)(x)
    return random() < 0.04 ? stalledScore(score, random) : score
  }),
  bursts: curve(
    'slope, and stalls that last: 2 % of the trials begin one, and every other trial in one is followed by another',
    (random) => {
      let stalled = false
      return (x) => {
        stalled = random() < (stalled ? 0.5 : 0.02)
        const score = slope(random)(x)
        return stalled ? stalledScore(score, random) : score
      }
    },
  ),
  wandering: curve(
    'slope; the capacity takes a random step of 1 % before each trial, and the truth is its mean',
    slope,
    wandering,
  ),
  queue: curve(
    'what is offered beyond the service rate queues up, so longer trials are stricter; the truth is for 8 s',
    slope,
    queue,
    0.15,
  ),
  far: curve('slope, with a capacity from a thirtieth to four times of the plateau', slope, (service, random) => {
    const plateau_rps = service.capacity_rps() / Math.exp(between(random, Math.log(1 / 30), Math.log(4)))
    return { ...service, plateau_rps }
  }),
  'generator-bound': curve(
    'slope, but the generator is the limit at 60 % to 90 % of the capacity: trials beyond are invalid',
    slope,
    generatorBound,
  ),
}

/**
 * Services of a kind, with capacities of 200/s to 50,000/s, and plateaus that are off by some share of it.
 *
 * @param {string} about
 * @param {(random: Random) => (x: number) => number} scores
 * @param {(service: Service, random: Random) => Service} [change]
 * @param {number} [off] of the plateau, in ln
 */
function curve(about, scores, change = (service) => service, off = 0.3) {
  const create = (/** @type {Random} */ random) => {
    const scoreAt = scores(random)
    const capacity_rps = Math.exp(between(random, Math.log(200), Math.log(50_000)))
    const plateau_rps = capacity_rps * Math.exp(between(random, -off, off))
    /** @type {Service} */
    const service = {
      plateau_rps,
      trial: ({ rate_rps }) => judged(scoreAt(Math.log(rate_rps / capacity_rps))),
      capacity_rps: () => capacity_rps,
    }
    return change(service, random)
  }
  return { about, create }
}

/** @param {Service} service @param {Random} random @returns {Service} */
function wandering(service, random) {
  let ln_capacity = Math.log(service.capacity_rps())
  /** @type {number[]} */
  const path = []
  return {
    ...service,
    trial: ({ rate_rps }) => {
      ln_capacity += 0.01 * normal(random)
      path.push(ln_capacity)
      return judged(slope(random)(Math.log(rate_rps) - ln_capacity))
    },
    capacity_rps: () => Math.exp(path.reduce((sum, value) => sum + value, 0) / path.length),
  }
}

/** SLO 100 ms, as by default. @param {Service} service @param {Random} random @returns {Service} */
function queue(service, random) {
  const slo_s = 0.1
  const confirm_s = 8
  const service_rps = service.capacity_rps()
  const p99_s = (/** @type {number} */ load, /** @type {number} */ duration_s) => {
    const idle_s = 0.004 / Math.max(0.1, 1 - load)
    return idle_s + 0.99 * duration_s * Math.max(0, 1 - 1 / load)
  }
  let truth = 1
  while (p99_s(truth, confirm_s) < slo_s) truth += 0.0005
  return {
    ...service,
    trial: ({ rate_rps, duration_s }) => {
      // What wanders from second to second evens out over a longer trial.
      const load = (rate_rps / service_rps) * Math.exp((0.02 / Math.sqrt(duration_s / 2)) * normal(random))
      return judged(Math.log(p99_s(load, duration_s) / slo_s) + 0.2 * normal(random))
    },
    capacity_rps: () => truth * service_rps,
  }
}

/** @param {Service} service @param {Random} random @returns {Service} */
function generatorBound(service, random) {
  const reach_rps = service.capacity_rps() * between(random, 0.6, 0.9)
  const plateau_rps = reach_rps * Math.exp(between(random, -0.3, 0.3))
  /** @type {Service['trial']} */
  const trial = (load) => {
    const late = random() < logistic(Math.log(load.rate_rps / reach_rps) / 0.02)
    return late ? { verdict: 'invalid', score: 0 } : service.trial(load)
  }
  return { ...service, plateau_rps, reach_rps, trial }
}

/** @param {number} x @param {Random} random */
function cliff(x, random) {
  return x < 0 ? -1.2 + 0.5 * x + 0.15 * normal(random) : 1.5 + 4 * x + 0.3 * normal(random)
}

/** A service scores -2.5 at best, however low the rate. @param {Random} random @param {number} [deviation] */
function slope(random, deviation = 0.24) {
  return (/** @type {number} */ x) => Math.max(-2.5, 8 * x) + deviation * normal(random)
}

/** @param {number} score @param {Random} random */
function stalledScore(score, random) {
  return Math.max(score, 0.1 + 1.1 * random())
}

/** @param {number} score */
function judged(score) {
  const clamped = Math.max(-3, Math.min(3, score))
  return { verdict: clamped <= 0 ? /** @type {const} */ ('pass') : /** @type {const} */ ('fail'), score: clamped }
}

/** @param {Random} random @param {number} from @param {number} to */
function between(random, from, to) {
  return from + (to - from) * random()
}

/** @param {number} x */
function logistic(x) {
  return 1 / (1 + Math.exp(-x))
}
