import { NotApplied } from '../../load/command/errors.js'
import { textOf } from '../../load/system/machine.js'
import { crowd } from '../experiments/faults/neighbours.js'
import { openCell } from '../knobs/open-cell.js'
import { levelsOf } from '../stats/design.js'

/**
 * @import { Place } from '../../load/run/bench.js'
 * @import { Target } from '../../load/targets/index.js'
 */

/** What the exercises turn beside the knobs that `npm run tune` has. */
const OWN = ['MAX_CONNECTIONS', 'UV_THREADPOOL_SIZE', 'CORES', 'NEIGHBOURS', 'NEIGHBOUR_NICE']

/** Those that are variables of the API's environment. */
const VARIABLES = ['MAX_CONNECTIONS', 'UV_THREADPOOL_SIZE']

/**
 * The API as an exercise wants it, each knob read back from what runs.
 *
 * @param {string | null} cell
 * @param {Place} place
 * @returns {Promise<Target>}
 * @throws {NotApplied}
 */
export async function openExercise(cell, place) {
  const levels = Object.entries(levelsOf(String(cell)))
  const own = Object.fromEntries(levels.filter(([name]) => OWN.includes(name)))
  const variables = Object.fromEntries(Object.entries(own).filter(([name]) => VARIABLES.includes(name)))
  const cores = own.CORES === 'all' ? place.allCores : place.cores
  const where = { ...place, cores, env: { ...place.env, ...variables } }
  const target = await openCell(Object.fromEntries(levels.filter(([name]) => !OWN.includes(name))), where)
  const wrong = misapplied(own, target)
  if (wrong) {
    await target.stop()
    throw new NotApplied(wrong)
  }
  if (own.NEIGHBOURS === undefined) return target
  const plant = crowd(Number(own.NEIGHBOURS), { nice: own.NEIGHBOUR_NICE ?? null })
  const api = { pid: Number(target.pid), cores: place.cores }
  return {
    ...target,
    disturb: ({ pid }) => plant({ databaseUrl: place.databaseUrl, api, generator: { pid, cores: null } }),
  }
}

/** @param {string} cell the part of it that openCell and the generator know */
export function knobsOf(cell) {
  return Object.fromEntries(Object.entries(levelsOf(cell)).filter(([name]) => !OWN.includes(name)))
}

/**
 * What was set and is not in force.
 *
 * @param {Record<string, string>} own
 * @param {Target} target
 * @returns {string | null}
 */
function misapplied({ MAX_CONNECTIONS, UV_THREADPOOL_SIZE }, { pid, settings }) {
  if (MAX_CONNECTIONS !== undefined && String(settings.MAX_CONNECTIONS) !== MAX_CONNECTIONS) {
    return `MAX_CONNECTIONS: expected ${MAX_CONNECTIONS} when it was read back, got ${settings.MAX_CONNECTIONS}`
  }
  // Only Linux shows the environment of a process.
  const environment = textOf(`/proc/${pid}/environ`)
  if (UV_THREADPOOL_SIZE === undefined || environment === null) return null
  const isSet = environment.split('\0').includes(`UV_THREADPOOL_SIZE=${UV_THREADPOOL_SIZE}`)
  return isSet ? null : `UV_THREADPOOL_SIZE: expected ${UV_THREADPOOL_SIZE} in the environment of the process`
}
