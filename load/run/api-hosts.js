import { openHost } from '../system/ssh/host.js'
import { apiHostsOf } from '../system/ssh/plan.js'

/**
 * @import { Host } from '../system/ssh/host.js'
 * @import { Elsewhere } from '../system/ssh/plan.js'
 * @import { Run } from '../report/record.js'
 * @import { Cores, Place } from './site.js'
 */

/**
 * Connects to the hosts on which a plan runs the API, one after the other. Sides on the same host share its connection.
 * @param {Elsewhere} plan @param {Omit<Parameters<typeof openHost>[1], 'flag'>} io @param {typeof openHost} [open]
 * @returns {Promise<Hosts>} @throws {UsageError} if one of them cannot run the API; then all are closed
 * @typedef {Record<string, Host>} Hosts by the name that their flag gives
 */
export async function openHosts(plan, io, open = openHost) {
  /** @type {Hosts} */
  const hosts = {}
  try {
    for (const { flag, ssh } of apiHostsOf(plan)) hosts[ssh.host] = await open(ssh, { ...io, flag })
    return hosts
  } catch (error) {
    await closeHosts(hosts)
    throw error
  }
}

/** @param {Hosts} hosts */
export async function closeHosts(hosts) {
  await Promise.all(Object.values(hosts).map((host) => host.close()))
}

/**
 * The API's place on each host.
 * @param {Hosts} hosts @param {Pick<Place, 'databaseUrl' | 'env' | 'logFile' | 'signal'>} common env: nothing else of ours leaves
 *   this machine
 * @returns {Record<string, Place>} by the names of the hosts
 */
export function placesOn(hosts, common) {
  const places = Object.entries(hosts).map(([name, host]) => [name, { ...common, ...pinnedTo(host.cores), host }])
  return Object.fromEntries(places)
}

/** @param {Cores | null} cores null: nothing is pinned */
export function pinnedTo(cores) {
  return { cores: cores?.api ?? null, allCores: cores && `${cores.api},${cores.others}` }
}

/**
 * The hosts' machines, for run.json: that of --ssh, or those of the sides that have a host.
 * @param {Elsewhere} plan @param {Hosts} hosts @returns {Pick<Run, 'target_machine' | 'target_machines'>}
 */
export function targetMachines({ ssh, sides = {} }, hosts) {
  const machineOf = (/** @type {Host} */ { name, machine }) => ({ name, ...machine })
  if (ssh) return { target_machine: machineOf(hosts[ssh.host]) }
  const there = Object.entries(sides).flatMap(([side, { ssh }]) => (ssh ? [[side, machineOf(hosts[ssh.host])]] : []))
  return there.length > 0 ? { target_machines: Object.fromEntries(there) } : {}
}

/**
 * A warning if the sides' machines have different versions of Node, which would be taken for a difference between the machines.
 * @param {Elsewhere} plan @param {Hosts} hosts @param {string} [own] version on this machine @returns {string[]}
 */
export function nodeWarning({ sides = {} }, hosts, own = process.version) {
  const started = Object.entries(sides).filter(([, { url }]) => url === null)
  const versions = started.map(([side, { ssh }]) => [side.toUpperCase(), ssh ? hosts[ssh.host].machine.node : own])
  if (new Set(versions.map(([, version]) => version)).size < 2) return []
  const found = versions.map((one) => one.join(' ')).join(', ')
  return [
    `the machines of the sides have different versions of Node (${found}): a part of their difference may be Node's, unless their settings name one version, such as NODE=26`,
  ]
}
