import { planCores } from '../../../load/system/machine.js'
import { pinSelf } from '../../../load/system/processes.js'

/** Puts the lab aside, so that the balancer has a core alone. */
export function pinAside() {
  const cores = planCores()
  return cores && pinSelf(cores.others) ? cores : null
}

/**
 * Which core had what.
 *
 * @param {{ api: string, others: string } | null} cores null: nothing was pinned
 * @param {boolean} hasProcesses whether the API was loaded, too
 */
export function pinningText(cores, hasProcesses) {
  if (!cores) return 'Nothing was pinned: this system has one core, or no taskset.'
  const { api, others } = cores
  const balancer = `The balancer ran on core ${api} alone, the endpoints, the generator and the lab on core ${others}.`
  if (!hasProcesses) return balancer
  return `${balancer} In front of API processes HAProxy was not pinned; they took turns on the cores ${api},${others}.`
}
