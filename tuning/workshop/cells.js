import { NotApplied } from '../../load/command/errors.js'
import { textOf } from '../../load/system/machine.js'
import { crowd } from '../experiments/faults/neighbours.js'
import { openCell } from '../knobs/open-cell.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Cell } from '../../load/report/record.js'
 */

/**
 * The API with the settings and the surroundings of an exercise, each setting read back from the running process.
 * @param {Cell} cell @param {Place} place @returns {Promise<Target>} @throws {NotApplied}
 */
export async function openExercise(cell, place) {
  const { UV_THREADPOOL_SIZE: threads, CORES, NEIGHBOURS, NEIGHBOUR_NICE: nice } = cell
  const env = threads === undefined ? place.env : { ...place.env, UV_THREADPOOL_SIZE: String(threads) }
  const target = await openCell(knobsOf(cell), { ...place, cores: CORES === 'all' ? place.allCores : place.cores, env })
  // Only Linux shows the environment of a process.
  const shown = threads === undefined ? null : textOf(`/proc/${target.pid}/environ`)
  if (shown && !shown.split('\0').includes(`UV_THREADPOOL_SIZE=${threads}`)) {
    await target.stop()
    throw new NotApplied(`UV_THREADPOOL_SIZE: expected ${threads} in the environment of the process`)
  }
  if (NEIGHBOURS === undefined) return target
  const plant = crowd(Number(NEIGHBOURS), { nice: nice === undefined ? null : String(nice) })
  const api = { pid: Number(target.pid), cores: place.cores }
  return {
    ...target,
    disturb: ({ pid }) => plant({ databaseUrl: place.databaseUrl, api, generator: { pid, cores: null } }),
  }
}

/** The knobs of a cell, which openCell and the generator apply. @param {Cell} cell @returns {Cell} */
export function knobsOf({ UV_THREADPOOL_SIZE, CORES, NEIGHBOURS, NEIGHBOUR_NICE, ...knobs }) {
  return knobs
}
