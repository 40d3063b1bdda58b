import { startBeside } from '../generators/beside.js'
import { watchCpu_s } from '../probes/index.js'
import { addressOf } from './index.js'

/**
 * @import { Probe } from '../probes/index.js'
 * @import { Beside } from '../report/record.js'
 * @import { DisturbedTrial, Target } from './index.js'
 */

/** Beyond the trials of any run, so that the loads beside one repeat none of its requests. */
const LATER_TRIALS = 1_000_000

/**
 * A side's service, whose trials put the same load on the other sides at the same time. The speed of a core may change within a second;
 * whatever it does then, it does to all sides.
 * @param {string} side @param {Record<string, Target>} targets by side @returns {Target}
 */
export function togetherWith(side, targets) {
  const { [side]: own, ...others } = targets
  let rate_rps = 0
  const died = Promise.race(Object.values(targets).map((target) => target.died))
  // Awaited in a trial only; between two, a rejection must not count as unhandled.
  died.catch(() => {})
  return {
    ...own,
    died,
    // The others store rows as well.
    writesBeside: true,
    disturb: async (_generator, _at, plan, signal) => {
      rate_rps = Number(plan.rate_rps)
      /** @type {Awaited<ReturnType<typeof startBeside>>[]} */
      const ends = []
      const endAll = async () => Promise.all(ends.map((end) => end()))
      try {
        for (const [i, target] of Object.values(others).entries()) {
          ends.push(await startBeside(besideLoad(plan, target, i), signal))
        }
      } catch (error) {
        await endAll()
        throw error
      }
      return async () => sumOf(await endAll())
    },
    watch: async () => cpuOf(others, () => rate_rps),
  }
}

/** @param {DisturbedTrial} plan @param {Target} target @param {number} i */
function besideLoad({ driver, mix, trial, rate_rps, connections, timeout_s }, target, i) {
  const own = { mix, trial: trial + (i + 1) * LATER_TRIALS, rate_rps: Number(rate_rps), connections, timeout_s }
  return { driver, ...addressOf(target), ...own }
}

/** @param {Beside[]} loads @returns {Beside} */
function sumOf(loads) {
  const sum = (/** @type {(load: Beside) => number} */ of) => loads.reduce((total, load) => total + of(load), 0)
  return {
    offered_rps: sum(({ offered_rps }) => offered_rps),
    goodput_rps: sum(({ goodput_rps }) => goodput_rps),
    planned: sum(({ planned }) => planned),
    ok: sum(({ ok }) => ok),
    mean_ms: null,
  }
}

/**
 * The CPU time of a request to each of the services, each of which gets the same rate.
 * @param {Record<string, Target>} targets by side @param {() => number} rate_rps @returns {Probe}
 */
function cpuOf(targets, rate_rps) {
  const start_ms = performance.now()
  const uses = Object.entries(targets).map(([side, target]) => ({ side, use: watchCpu_s(target) }))
  return {
    end() {
      const requests = (rate_rps() * (performance.now() - start_ms)) / 1000
      const ended = uses.flatMap(({ side, use }) => {
        const cpu_s = use()
        return cpu_s === null ? [] : [[`${side}_cpu_us_per_request`, (cpu_s * 1e6) / requests]]
      })
      return async () => Object.fromEntries(ended)
    },
  }
}
