import { orderOf } from '../stages.js'

/** @import { Variant } from '../stages.js' */

/**
 * All variants within one load, by turns of some tens of milliseconds: what slows the machine for longer than that slows
 * all of them alike. After each change, the requests that began before it end first.
 *
 * @param {Turns} turns
 * @param {(without: string[]) => Promise<unknown>} change takes stages away; resolves when nothing is as it was before
 *
 * @typedef {{ variants: Variant[], requests: number, seed: number }} Turns variants of a round, some of them more than once;
 *   requests of a turn; seed of the order, which is drawn for each round
 * @typedef {[cell: number, cpu_us: number, time_us: number]} Turn per request; cell: the variant's place in the list
 */
export function takeTurns({ variants, requests, seed }, change) {
  /** @type {Turn[][]} whole ones */
  const rounds = []
  /** Places in the list, of the present round. @type {number[]} */
  let order = []
  /** @type {Turn[]} */
  let round = []
  let changing = false
  /** Counted from 1; a request is of the turn in which it began. */
  let turn = 0
  let older = 0
  let inFlight = 0
  let begun = 0
  let ended = 0
  /** Requests in flight, summed up over time: for each request, that is the time it took (Little's law). */
  let area_us = 0
  let last_us = 0
  /** @type {{ cpu_us: number, area_us: number, begun: number, ended: number } | null} */
  let start = null

  next()
  return {
    /** @returns the turn, which its end has to be told with */
    began() {
      const own = turn
      count(1)
      begun++
      if (start && begun - start.begun >= requests) finish(start)
      return own
    },

    /** @param {number} own turn of the request, which tells those from before the change: later ones may overtake them */
    ended(own) {
      count(-1)
      ended++
      if (own < turn) older--
      if (!start && !changing && older === 0) start = { cpu_us: cpu_us(), area_us, begun, ended }
    },

    rounds: () => rounds,
  }

  /** @param {number} more requests in flight */
  function count(more) {
    const now_us = performance.now() * 1000
    area_us += inFlight * (now_us - last_us)
    last_us = now_us
    inFlight += more
  }

  /** @param {NonNullable<typeof start>} from */
  function finish(from) {
    // Half of those that were under way at one end, and at the other.
    const served = (begun - from.begun + ended - from.ended) / 2
    const perRequest = (/** @type {number} */ us) => Math.round((us / served) * 10) / 10
    round.push([order[round.length], perRequest(cpu_us() - from.cpu_us), perRequest(area_us - from.area_us)])
    next()
  }

  function next() {
    if (round.length === order.length) {
      if (round.length > 0) rounds.push(round)
      round = []
      order = orderOf(variants, seed + rounds.length)
    }
    start = null
    turn++
    older = inFlight
    changing = true
    change(variants[order[round.length]].without).finally(() => {
      changing = false
    })
  }
}

/** Of all threads of this process. */
export function cpu_us() {
  const { user, system } = process.cpuUsage()
  return user + system
}
