import { NotApplied } from '../../load/command/errors.js'
import { textOf } from '../../load/system/machine.js'
import { crowd } from '../experiments/faults/neighbours.js'
import { openCell } from '../knobs/open-cell.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Cell } from '../../load/report/record.js'
 */

/** What the exercises set besides the knobs of `npm run tune`. */
const OWN = ['MAX_CONNECTIONS', 'UV_THREADPOOL_SIZE', 'CORES', 'NEIGHBOURS', 'NEIGHBOUR_NICE']

/** Those that are variables of the API's environment. */
const VARIABLES = ['MAX_CONNECTIONS', 'UV_THREADPOOL_SIZE']

/**
 * The API as an exercise wants it, each setting read back from what runs.
 *
 * @param {Cell} cell
 * @param {Place} place
 * @returns {Promise<Target>}
 * @throws {NotApplied}
 */
export async function openExercise(cell, place) {
  const own = picked(cell, (name) => OWN.includes(name))
  const cores = own.CORES === 'all' ? place.allCores : place.cores
  const variables = Object.entries(own).filter(([name]) => VARIABLES.includes(name))
  const env = { ...place.env, ...Object.fromEntries(variables.map(([name, level]) => [name, String(level)])) }
  const target = await openCell(knobsOf(cell), { ...place, cores, env })
  const wrong = misapplied(own, target)
  if (wrong) {
    await target.stop()
    throw new NotApplied(wrong)
  }
  if (own.NEIGHBOURS === undefined) return target
  const nice = own.NEIGHBOUR_NICE === undefined ? null : String(own.NEIGHBOUR_NICE)
  const plant = crowd(Number(own.NEIGHBOURS), { nice })
  const api = { pid: Number(target.pid), cores: place.cores }
  return {
    ...target,
    disturb: ({ pid }) => plant({ databaseUrl: place.databaseUrl, api, generator: { pid, cores: null } }),
  }
}

/** The part of a cell that openCell and the generator know. @param {Cell} cell */
export function knobsOf(cell) {
  return picked(cell, (name) => !OWN.includes(name))
}

/** @param {Cell} cell @param {(name: string) => boolean} wants */
function picked(cell, wants) {
  return Object.fromEntries(Object.entries(cell).filter(([name]) => wants(name)))
}

/** What was set but is not in force. @param {Cell} own @param {Target} target @returns {string | null} */
function misapplied({ MAX_CONNECTIONS, UV_THREADPOOL_SIZE }, { pid, settings }) {
  if (MAX_CONNECTIONS !== undefined && settings.MAX_CONNECTIONS !== MAX_CONNECTIONS) {
    return `MAX_CONNECTIONS: expected ${MAX_CONNECTIONS} when it was read back, got ${settings.MAX_CONNECTIONS}`
  }
  // Only Linux shows the environment of a process.
  const environment = textOf(`/proc/${pid}/environ`)
  if (UV_THREADPOOL_SIZE === undefined || environment === null) return null
  const isSet = environment.split('\0').includes(`UV_THREADPOOL_SIZE=${UV_THREADPOOL_SIZE}`)
  return isSet ? null : `UV_THREADPOOL_SIZE: expected ${UV_THREADPOOL_SIZE} in the environment of the process`
}
