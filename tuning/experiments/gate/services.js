import path from 'node:path'
import { UsageError } from '../../../load/command/errors.js'
import { profilerIn } from '../../../load/probes/profiles.js'
import { openCheckout } from '../../../load/targets/checkouts.js'
import { openUrl } from '../../../load/targets/index.js'
import { sideBySide } from '../../../load/targets/side-by-side.js'
import { problemOf } from '../../../load/targets/started.js'
import { openTogether } from '../../../load/targets/together.js'
import { visitsOf } from '../../stats/design.js'
import { SIDES, TOGETHER } from './decision.js'
import { ALL, CONNECTIONS, canTogether } from './design.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { GateCheckouts } from './gate.js'
 * @import { GatePlan } from './design.js'
 */

/**
 * Opens the service of a side, or all at once.
 * @param {{ side: string, start: number | string, side_rps?: number }} cell side_rps: rate of each side if all are loaded at once
 * @param {Place} place @param {GatePlan} plan @param {GateCheckouts | undefined} checkouts none if the services already run
 * @returns {Promise<Target>}
 */
export async function openService({ side, start, side_rps = 0 }, place, plan, checkouts) {
  const targets = await sideBySide(place, start, inOrder(start, plan), async (name) => {
    const own = name.startsWith('head') ? 'head' : 'base'
    const { url, shown_url: shownUrl, pid } = plan.sides[own]
    if (url) {
      // Failures later in the run are the service's own, and count against it.
      if (start === 1) await refuseSilent(own, { url, shownUrl }, plan.timeout_s)
      return openUrl(url, { shownUrl, processes: pid ? [pid] : [] })
    }
    const { paths, profiles } = /** @type {GateCheckouts} */ (checkouts)
    const preloads = start === 'profile' ? [profilerIn(path.join(profiles, own), paths[own])] : []
    return openCheckout(place, paths[own], { ...plan, preloads })
  })
  if (side === ALL) return openTogether(targets, { rate_rps: side_rps, connections: CONNECTIONS })
  return { ...targets[side], stop: async () => {} }
}

/** @param {string} side @param {{ url: string, shownUrl?: string }} service @param {number} timeout_s @throws {UsageError} if nothing answers */
async function refuseSilent(side, { url, shownUrl }, timeout_s) {
  const problem = await problemOf(url, timeout_s * 1000)
  const text = `expected a service that answers at ${shownUrl}, got ${problem}: start it, or correct the URL`
  if (problem !== null) throw new UsageError(`--url-${side}: ${text}`)
}

/** The sides to start, in order; the order varies, since the first is warm first. @param {number | string} start @param {GatePlan} plan */
function inOrder(start, plan) {
  if (typeof start === 'string') return start === 'peak' ? ['base'] : ['base', 'head']
  const cells = canTogether(plan) ? TOGETHER : SIDES
  const visits = visitsOf({ cells, anchor: null, blocks: start, seed: plan.mix.seed })
  return visits.filter(({ block }) => block === start - 1).map(({ cell }) => cell)
}
