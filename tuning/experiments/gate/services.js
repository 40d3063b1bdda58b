import { rmSync } from 'node:fs'
import path from 'node:path'
import { profilerIn } from '../../../load/probes/profiles.js'
import { freePorts } from '../../../load/system/ports.js'
import { openLocal, openStarted, openUrl } from '../../../load/targets/index.js'
import { openTogether } from '../../../load/targets/together.js'
import { visitsOf } from '../../stats/design.js'
import { SIDES } from './decision.js'
import { ALL, CONNECTIONS } from './design.js'

/**
 * @import { Place } from '../../../load/run/site.js'
 * @import { Checkouts } from '../../../load/targets/checkouts.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { GatePlan } from './design.js'
 */

/** @type {WeakMap<Place, { start: string | number | null, targets: Record<string, Target>, folder: string | null }>} */
const running = new WeakMap()

/**
 * Opens the service of a side. All sides run at the same time, since an idle one costs nothing, until a cell asks for another start.
 * @param {{ side: string, start: number | string, side_rps?: number }} cell side_rps: rate of each side if all are loaded at once
 * @param {Place} place the same object for all cells of a run
 * @param {GatePlan} plan @param {(Checkouts & { profiles: string }) | null} checkouts null if the services already run
 * @returns {Promise<Target>}
 */
export async function openService({ side, start, side_rps = 0 }, place, plan, checkouts) {
  const state = running.get(place) ?? { start: null, targets: {}, folder: checkouts?.folder ?? null }
  running.set(place, state)
  if (state.start !== start) {
    await stopAll(state.targets)
    for (const one of inOrder(start, plan)) {
      state.targets[one] = await startSide(one, place, plan, checkouts, start === 'profile')
    }
    state.start = start
  }
  if (side === ALL) return openTogether(state.targets, { rate_rps: side_rps, connections: CONNECTIONS })
  return { ...state.targets[side], stop: async () => {} }
}

/** The sides to start, in order; the order varies, since the first is warm first. @param {number | string} start @param {GatePlan} plan */
function inOrder(start, plan) {
  if (typeof start === 'string') return start === 'peak' ? ['base'] : ['base', 'head']
  return visitsOf({ cells: SIDES, anchor: null, blocks: 1, seed: plan.mix.seed + start }).map(({ cell }) => cell)
}

/** Stops the services of a run and removes the checkouts. @param {Place} place */
export async function closeServices(place) {
  const state = running.get(place)
  if (!state) return
  await stopAll(state.targets)
  if (state.folder) rmSync(state.folder, { recursive: true, force: true })
}

/** @param {Record<string, Target>} targets */
async function stopAll(targets) {
  for (const [side, target] of Object.entries(targets)) {
    delete targets[side]
    await target.stop()
  }
}

/** @param {string} name @param {Place} place @param {GatePlan} plan @param {(Checkouts & { profiles: string }) | null} checkouts @param {boolean} isProfiled */
async function startSide(name, place, plan, checkouts, isProfiled) {
  const side = name === 'head' ? 'head' : 'base'
  const { url, shown_url: shownUrl, pid } = plan.sides[side]
  if (url) return openUrl(url, { shownUrl, processes: pid ? [pid] : [] })
  const { paths, profiles } = /** @type {Checkouts & { profiles: string }} */ (checkouts)
  const preload = isProfiled ? `--import=${profilerIn(path.join(profiles, side), paths[side])}` : ''
  const env = { ...place.env, NODE_OPTIONS: [place.env.NODE_OPTIONS, preload].filter(Boolean).join(' ') }
  if (!plan.start) return openLocal({ ...place, env, root: paths[side] })
  const [port] = await freePorts(1)
  const own = `http://127.0.0.1:${port}${plan.path}`
  return openStarted({ ...place, start: plan.start, url: own, cwd: paths[side], env: { ...env, PORT: String(port) } })
}
