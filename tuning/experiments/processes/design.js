import { matrixVisits } from '../../stats/matrix.js'

/**
 * @import { Matrix } from '../../stats/matrix.js'
 * @import { ProcessesPlan } from './processes.js'
 * @typedef {{ processes: number, front: 'direct' | 'haproxy' }} Setup a cell: a number of API processes, and what is in front of them
 */

/** Time from the end of a trial to the load of the next one, for the estimate of the time left. */
const START_S = 1

/** The set-up that the others are compared with: HAProxy's own cost is part of all but one of them. @type {Setup} */
export const REFERENCE = { processes: 1, front: 'haproxy' }

/** The set-ups that are compared. @param {Pick<ProcessesPlan, 'processes'>} plan @returns {Setup[]} */
export function setupsOf({ processes }) {
  return [{ processes: 1, front: 'direct' }, ...processes.map((count) => ({ ...REFERENCE, processes: count }))]
}

/** Blocks with every set-up once, in a random order. @param {ProcessesPlan} plan @returns {Matrix} */
export function matrixOf(plan) {
  const { blocks, warmup_s, duration_s, mix } = plan
  const [connections] = plan.connections
  return {
    visits: matrixVisits({ units: setupsOf(plan).map((cell) => ({ cell })), blocks, seed: mix.seed }),
    loadOf: () => ({ driver: 'autocannon', loop: 'closed', rate_rps: null, connections, warmup_s, duration_s }),
    // Each trial gets processes of its own, so that no set-up keeps a warmer one.
    restarts: true,
    visit_s: warmup_s + duration_s + START_S,
  }
}
