/** @import { Target } from './index.js' */

/** @type {WeakMap<object, { start: string | number | null, targets: Record<string, Target> }>} */
const running = new WeakMap()

/**
 * Services that run at the same time, since an idle one costs nothing, until a cell asks for another start.
 * @param {object} place the same object for all cells of a run @param {string | number} start @param {string[]} names in the order to start
 * @param {(name: string) => Promise<Target>} open @returns {Promise<Record<string, Target>>} by name
 */
export async function sideBySide(place, start, names, open) {
  const state = running.get(place) ?? { start: null, targets: {} }
  running.set(place, state)
  if (state.start !== start) {
    await stopSideBySide(place)
    state.start = null
    for (const name of names) state.targets[name] = await open(name)
    state.start = start
  }
  return state.targets
}

/** Stops the services of a run. @param {object} place */
export async function stopSideBySide(place) {
  const targets = running.get(place)?.targets ?? {}
  for (const [name, target] of Object.entries(targets)) {
    delete targets[name]
    await target.stop()
  }
}
