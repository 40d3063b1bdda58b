import { NotApplied } from '../../load/command/errors.js'
import { textOf } from '../../load/system/machine.js'
import { crowd } from '../experiments/faults/neighbours.js'
import { openCell } from '../knobs/open-cell.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Cell } from '../../load/report/record.js'
 */

/** Variables of the API's environment that `npm run tune` does not turn. */
const VARIABLES = ['MAX_CONNECTIONS', 'UV_THREADPOOL_SIZE']
const SURROUNDINGS = ['CORES', 'NEIGHBOURS', 'NEIGHBOUR_NICE']

/**
 * The API as an exercise wants it, each setting read back from what runs.
 *
 * @param {Cell} cell
 * @param {Place} place
 * @returns {Promise<Target>}
 * @throws {NotApplied}
 */
export async function openExercise(cell, place) {
  const { CORES, NEIGHBOURS, NEIGHBOUR_NICE: nice } = cell
  const env = { ...place.env }
  for (const name of VARIABLES) if (name in cell) env[name] = String(cell[name])
  const target = await openCell(knobsOf(cell), { ...place, cores: CORES === 'all' ? place.allCores : place.cores, env })
  const wrong = misapplied(cell, target)
  if (wrong) {
    await target.stop()
    throw new NotApplied(wrong)
  }
  if (NEIGHBOURS === undefined) return target
  const plant = crowd(Number(NEIGHBOURS), { nice: nice === undefined ? null : String(nice) })
  const api = { pid: Number(target.pid), cores: place.cores }
  return {
    ...target,
    disturb: ({ pid }) => plant({ databaseUrl: place.databaseUrl, api, generator: { pid, cores: null } }),
  }
}

/** The part of a cell that openCell and the generator know. @param {Cell} cell @returns {Cell} */
export function knobsOf(cell) {
  const own = [...VARIABLES, ...SURROUNDINGS]
  return Object.fromEntries(Object.entries(cell).filter(([name]) => !own.includes(name)))
}

/** What was set but is not in force. @param {Cell} cell @param {Target} target */
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
