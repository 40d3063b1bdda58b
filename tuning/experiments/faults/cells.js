import { cellOf as settingsOf } from '../../../load/run/older.js'
import { coresOf } from '../../../load/system/machine.js'
import { openApi } from '../../../load/targets/index.js'
import { relaxed } from '../../../load/verdict/relax.js'
import { FAULTS } from './index.js'

/**
 * @import { Place } from '../../../load/run/bench.js'
 * @import { Target } from '../../../load/targets/index.js'
 * @import { Fault } from './index.js'
 */

/** Between the name of a fault and the limit that is relaxed. */
const WITH = ' with '

/** @param {string} fault @param {string | null} notch such as POOL_MAX=4 */
export function cellOf(fault, notch) {
  return notch === null ? fault : `${fault}${WITH}${notch}`
}

/** @param {string | null} cell @returns {Fault} */
export function faultOf(cell) {
  const name = cell?.split(WITH)[0]
  const fault = FAULTS.find((one) => one.name === name)
  if (!fault) throw new Error(`expected the name of a fault, got ${cell}`)
  return fault
}

/** @param {string | null} cell @returns {string | null} what is relaxed in it */
export function notchOf(cell) {
  return cell?.split(WITH)[1] ?? null
}

/**
 * The API with the fault of a cell around it.
 *
 * @param {string | null} cell
 * @param {Place} place
 * @returns {Promise<Target>}
 */
export async function openFaulty(cell, place) {
  const { settings, nodeFlags, nofile, front, plant } = faultOf(cell)
  const notch = notchOf(cell)
  const faulty = { ...place, env: { ...place.env, ...settings }, nodeFlags, nofile: nofile ?? null }
  const target = await openApi(relaxed(faulty, notch === null ? null : settingsOf(notch)))
  const before = await front?.(target.url).catch(async (error) => {
    await target.stop()
    throw error
  })
  const api = { pid: Number(target.pid), cores: target.cores }
  return {
    ...target,
    url: before?.url ?? target.url,
    stop: async () => {
      await before?.stop()
      await target.stop()
    },
    disturb: async ({ pid }) => {
      const generator = { pid, cores: coresOf(pid) }
      return plant ? plant({ databaseUrl: place.databaseUrl, api, generator }) : async () => {}
    },
  }
}
