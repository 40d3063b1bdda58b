import { once } from 'node:events'
import { createServer } from 'node:http'
import { startBeside } from '../generators/beside.js'
import { watchCpu_s } from '../probes/index.js'
import { addressOf } from './index.js'

/**
 * @import { Probe } from '../probes/index.js'
 * @import { Beside } from '../report/record.js'
 * @import { DisturbedTrial, Target } from './index.js'
 */

/** Exceeds the number of trials of any run, so that the loads next to a trial's own repeat none of its requests. */
const LATER_TRIALS = 1_000_000

/**
 * Target that loads several services at the same rate and at the same time: a core's speed may change within a second, and then changes
 * for all of them. The trial's own load goes to a server of the lab that answers at once, since even two additional requests a second
 * raised a service's cost per request by two per cent.
 * @param {Record<string, Target>} targets by side @param {{ rate_rps: number, connections: number }} load of each side @returns {Promise<Target>}
 */
export async function openTogether(targets, load) {
  const died = Promise.race(Object.values(targets).map((target) => target.died))
  // Awaited only during a trial; between trials, a rejection must not count as unhandled.
  died.catch(() => {})
  const server = createServer((req, res) => {
    req.resume()
    res.writeHead(201, { 'Content-Length': 0 }).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const [first] = Object.values(targets)
  return {
    ...first,
    ...{ url: `http://127.0.0.1:${port}/`, metricsUrl: null, pid: null, processes: undefined, died },
    writesBeside: true,
    async disturb(_generator, _at, plan, signal) {
      /** @type {Awaited<ReturnType<typeof startBeside>>[]} */
      const ends = []
      const endAll = async () => Promise.all(ends.map((end) => end()))
      try {
        for (const [i, target] of Object.values(targets).entries()) {
          ends.push(await startBeside(besideLoad({ ...plan, ...load }, target, i), signal))
        }
      } catch (error) {
        await endAll()
        throw error
      }
      return async () => {
        const loads = await endAll()
        const sides = Object.keys(targets).map((side, i) => [side, loads[i].ok / Math.max(1, loads[i].planned)])
        return { ...sumOf(loads), success_ratios: Object.fromEntries(sides) }
      }
    },
    watch: async () => cpuOf(targets, load.rate_rps),
    async stop() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** @param {DisturbedTrial} plan @param {Target} target @param {number} i */
function besideLoad({ driver, mix, trial, rate_rps, connections, timeout_s }, target, i) {
  const own = { mix, trial: trial + (i + 1) * LATER_TRIALS, rate_rps: Number(rate_rps), connections, timeout_s }
  // Evenly spaced arrivals at the same rate keep their order for seconds: a service whose requests always came just behind those of
  // another would find more of them at once, and need less CPU for each.
  return { driver, ...addressOf(target), ...own, arrivals: /** @type {const} */ ('poisson') }
}

/** @param {Beside[]} loads @returns {Beside} */
function sumOf(loads) {
  const names = /** @type {const} */ (['offered_rps', 'goodput_rps', 'planned', 'ok'])
  const [offered_rps, goodput_rps, planned, ok] = names.map((name) => loads.reduce((sum, load) => sum + load[name], 0))
  return { offered_rps, goodput_rps, planned, ok, mean_ms: null }
}

/**
 * Probes the CPU time of a request to each service, second by second: V8 compiles in one of them at a time.
 * @param {Record<string, Target>} targets by side @param {number} rate_rps of each @returns {Probe}
 */
function cpuOf(targets, rate_rps) {
  const uses = Object.entries(targets).map(([side, target]) => ({ side, use: watchCpu_s(target) }))
  const look = () => ({ at_ms: performance.now(), cpu_s: uses.map(({ use }) => use()) })
  const looks = [look()]
  return {
    async sample() {
      looks.push(look())
    },
    end() {
      looks.push(look())
      const windows = looks.slice(1).map(({ at_ms, cpu_s }, i) => {
        const elapsed_s = (at_ms - looks[i].at_ms) / 1000
        const costs_us = uses.flatMap(({ side }, n) => {
          const [until_s, from_s] = [cpu_s[n], i === 0 ? 0 : looks[i].cpu_s[n]]
          if (until_s === null || from_s === null) return []
          return [[side, ((until_s - from_s) * 1e6) / (rate_rps * elapsed_s)]]
        })
        return Object.fromEntries(costs_us)
      })
      return async () => ({ cpu_us_per_request: windows })
    },
  }
}
