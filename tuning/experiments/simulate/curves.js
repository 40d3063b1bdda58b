import { normal } from '../../../load/system/random.js'

/**
 * Synthetic services, each with a known capacity, to measure the search against. A trial's score is ln(p99 / SLO); x is
 * ln(rate / capacity).
 * @typedef {() => number} Random the next number in [0, 1)
 * @typedef {{ plateau_rps: number, trial: (trial: { rate_rps: number, duration_s: number }) => Judged,
 *   capacity_rps: (usual_ms: number) => number, reach_rps?: number }} Service plateau_rps: what a closed loop would measure;
 *   capacity_rps: the rate at which half of the trials without a stall pass, at the core speed at which the fixed piece of work takes
 *   usual_ms; reach_rps: beyond this rate the generator is the limit
 * @typedef {{ verdict: 'pass' | 'fail' | 'invalid', score: number, kept_rps?: number | null, work_ms?: number, cost?: number }} Judged
 *   kept_rps: see SearchTrial; work_ms: time of the fixed piece of work before the trial; cost: CPU time of a request, in any unit
 */

/** Factor by which the work of a request takes longer at the lower of two speeds. */
const OTHER_SLOWNESS = 1.65

/** @type {Record<string, { about: string, create: (random: Random) => Service }>} */
export const CURVES = {
  cliff: {
    about: 'far below the SLO up to the capacity, far above it beyond; capacity ± 1 % from trial to trial',
    create: steady((x, random) => {
      const at = x + 0.01 * normal(random)
      return at < 0 ? -1.2 + 0.5 * at + 0.15 * normal(random) : 1.5 + 4 * at + 0.3 * normal(random)
    }),
  },
  slope: {
    about: 'p99 rises by 8 % for each 1 % of rate; verdicts are noisy within ± 3 %',
    create: steady(slope),
  },
  noisy: {
    about: 'the same, noisy within ± 8 %',
    create: steady((x, random) => slope(x, random, 0.64)),
  },
  bistable: {
    about: 'a trial either goes well or collapses; from 10 % below the capacity to 10 % above, ever more of them do',
    create: steady((x, random) => (random() < logistic(x / 0.035) ? 2 : -1) + 0.2 * normal(random)),
  },
  outliers: {
    about: 'slope, and 4 % of the trials meet a stall that makes them fail at any rate',
    create: steady((x, random) => {
      const score = slope(x, random)
      return random() < 0.04 ? stalledScore(score, random) : score
    }),
  },
  bursts: {
    about:
      'slope, and stalls that last: 2 % of the trials begin one, and every other trial in one is followed by another',
    create: (random) => {
      let stalled = false
      return steady((x) => {
        stalled = random() < (stalled ? 0.5 : 0.02)
        const score = slope(x, random)
        return stalled ? stalledScore(score, random) : score
      })(random)
    },
  },
  wandering: {
    about: 'slope; the capacity takes a random step of 1 % before each trial, and the truth is its mean',
    create: wandering,
  },
  'two-speeds': {
    about:
      'slope, on a core with two speeds, one 1.65 times the other, each for three trials on average; the truth is for the usual one',
    create: twoSpeeds,
  },
  queue: {
    about: 'what is offered beyond the service rate queues up, so longer trials are stricter; the truth is for 8 s',
    create: queue,
  },
  far: {
    about: 'slope, with a capacity from a thirtieth to four times of the plateau',
    create: (random) => {
      const service = CURVES.slope.create(random)
      const plateau_rps = service.capacity_rps(0) / Math.exp(between(random, Math.log(1 / 30), Math.log(4)))
      return { ...service, plateau_rps }
    },
  },
  'generator-bound': {
    about: 'slope, but the generator is the limit at 60 % to 90 % of the capacity: trials beyond are invalid',
    create: generatorBound,
  },
}

/** Services whose capacity stays the same. @param {(x: number, random: Random) => number} scoreAt @returns {(random: Random) => Service} */
function steady(scoreAt) {
  return (random) => {
    const { capacity_rps, plateau_rps } = drawn(random)
    const trial = (/** @type {{ rate_rps: number }} */ { rate_rps }) => {
      return judged(scoreAt(Math.log(rate_rps / capacity_rps), random))
    }
    return { plateau_rps, trial, capacity_rps: () => capacity_rps }
  }
}

/** Draws a capacity of 200/s to 50,000/s, and a plateau that is off by some share. @param {Random} random @param {number} [off] in ln */
function drawn(random, off = 0.3) {
  const capacity_rps = Math.exp(between(random, Math.log(200), Math.log(50_000)))
  return { capacity_rps, plateau_rps: capacity_rps * Math.exp(between(random, -off, off)) }
}

/** @param {Random} random @returns {Service} */
function wandering(random) {
  const { capacity_rps, plateau_rps } = drawn(random)
  let ln_capacity = Math.log(capacity_rps)
  /** @type {number[]} */
  const path = []
  return {
    plateau_rps,
    trial: ({ rate_rps }) => {
      ln_capacity += 0.01 * normal(random)
      path.push(ln_capacity)
      return judged(slope(Math.log(rate_rps) - ln_capacity, random))
    },
    capacity_rps: () => Math.exp(path.reduce((sum, value) => sum + value, 0) / path.length),
  }
}

/** A core that shares its hardware with another guest. @param {Random} random @returns {Service} */
function twoSpeeds(random) {
  const { capacity_rps, plateau_rps } = drawn(random)
  const work_ms = 10
  let slowness = random() < 0.5 ? 1 : OTHER_SLOWNESS
  return {
    plateau_rps,
    trial: ({ rate_rps }) => {
      if (random() < 1 / 3) slowness = slowness === 1 ? OTHER_SLOWNESS : 1
      const judgement = judged(slope(Math.log((rate_rps * slowness) / capacity_rps), random))
      const [before, within] = [slowness, slowness].map((times) => times * Math.exp(0.02 * normal(random)))
      return { ...judgement, work_ms: work_ms * before, cost: within }
    },
    capacity_rps: (usual_ms) => (usual_ms < 1.3 * work_ms ? capacity_rps : capacity_rps / OTHER_SLOWNESS),
  }
}

/** Load from which a growing backlog is seen. */
const LEAST_GROWING = 1.012

/** Its SLO is 100 ms, the default. @param {Random} random @returns {Service} */
function queue(random) {
  const slo_s = 0.1
  const confirm_s = 8
  const { capacity_rps: service_rps, plateau_rps } = drawn(random, 0.15)
  const p99_s = (/** @type {number} */ load, /** @type {number} */ duration_s) => {
    const idle_s = 0.004 / Math.max(0.1, 1 - load)
    return idle_s + 0.99 * duration_s * Math.max(0, 1 - 1 / load)
  }
  let truth = 1
  while (p99_s(truth, confirm_s) < slo_s) truth += 0.0005
  return {
    plateau_rps,
    trial: ({ rate_rps, duration_s }) => {
      // Fluctuations from second to second even out over a longer trial.
      const load = (rate_rps / service_rps) * Math.exp((0.02 / Math.sqrt(duration_s / 2)) * normal(random))
      const kept_rps = load > LEAST_GROWING ? rate_rps / load : null
      return { ...judged(Math.log(p99_s(load, duration_s) / slo_s) + 0.2 * normal(random)), kept_rps }
    },
    capacity_rps: () => truth * service_rps,
  }
}

/** @param {Random} random @returns {Service} */
function generatorBound(random) {
  const service = CURVES.slope.create(random)
  const reach_rps = service.capacity_rps(0) * between(random, 0.6, 0.9)
  const plateau_rps = reach_rps * Math.exp(between(random, -0.3, 0.3))
  /** @type {Service['trial']} */
  const trial = (load) => {
    const late = random() < logistic(Math.log(load.rate_rps / reach_rps) / 0.02)
    return late ? { verdict: 'invalid', score: 0 } : service.trial(load)
  }
  return { ...service, plateau_rps, reach_rps, trial }
}

/** A service scores -2.5 at best, however low the rate. @param {number} x @param {Random} random */
function slope(x, random, deviation = 0.24) {
  return Math.max(-2.5, 8 * x) + deviation * normal(random)
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
