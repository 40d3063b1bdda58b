import { cpu_us } from '../../../../load/system/cpu.js'
import { orderOf } from '../stages.js'

/**
 * Cycles through all variants within one load, in turns of some tens of milliseconds, so that anything that slows the machine for
 * longer slows all variants alike. After each change, a turn waits for the requests that began before it.
 * @param {Turns} turns
 * @param {(without: string[]) => Promise<unknown>} change removes stages; resolves when the change is in force
 * @typedef {{ variants: string[][], requests: number, seed: number }} Turns variants of a round, by the stages they lack; requests of
 *   a turn; seed of the order, which is drawn anew for each round
 * @typedef {[variant: number, cpu_us: number, time_us: number]} Turn variant: its index; means per request
 */
export function takeTurns({ variants, requests, seed }, change) {
  const rounds = /** @type {Turn[][]} */ ([])
  let round = /** @type {Turn[]} */ ([])
  let order = /** @type {number[]} */ ([])
  let changing = false
  let turn = 0
  /** Requests in flight from earlier turns. */
  let older = 0
  let begun = 0
  let ended = 0
  /** Requests in flight, integrated over time: their total time in the service (Little's law). */
  let area_us = 0
  let last_us = 0
  /** @type {{ cpu_us: number, area_us: number, begun: number, ended: number } | null} */
  let start = null

  next()
  return {
    /** Completed rounds. */
    rounds,

    /** Counts a request. @returns a function to call once, when the request ends */
    began() {
      const own = turn
      integrate()
      begun++
      if (start && begun - start.begun >= requests) finish(start)
      return () => {
        integrate()
        ended++
        if (own < turn) older--
        if (!start && !changing && older === 0) start = { cpu_us: cpu_us(), area_us, begun, ended }
      }
    },
  }

  /** Must be called before the number of requests in flight changes. */
  function integrate() {
    const now_us = performance.now() * 1000
    area_us += (begun - ended) * (now_us - last_us)
    last_us = now_us
  }

  /** @param {NonNullable<typeof start>} from */
  function finish(from) {
    // A request that is in flight at either end of the turn counts half.
    const served = (begun - from.begun + ended - from.ended) / 2
    const perRequest = (/** @type {number} */ us) => Math.round((us / served) * 10) / 10
    round.push([order[round.length], perRequest(cpu_us() - from.cpu_us), perRequest(area_us - from.area_us)])
    next()
  }

  function next() {
    if (round.length === order.length) {
      if (round.length > 0) rounds.push(round)
      round = []
      order = orderOf(variants.length, seed + rounds.length)
    }
    start = null
    turn++
    older = begun - ended
    changing = true
    change(variants[order[round.length]]).finally(() => {
      changing = false
    })
  }
}
