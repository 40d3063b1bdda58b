import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {{ nodes: { id: number, callFrame: { functionName: string, url: string, lineNumber: number } }[], samples: number[],
 *   timeDeltas: number[] }} CpuProfile as V8 writes it; timeDeltas in us
 * @typedef {{ name: string, base_us: number, head_us: number }} Changed time of a request in a function itself, without what it calls
 */

/** Functions that are listed. */
const TOP = 8
const IDLE = ['(idle)', '(root)']

/**
 * The functions in which a request's time has changed most. Pure.
 * @param {Record<'base' | 'head', { profile: CpuProfile, root: string, cpu_us_per_request: number }>} sides root: folder of its checkout
 * @returns {Changed[]}
 */
export function changedFunctions({ base, head }) {
  const [before, after] = [base, head].map(({ profile, root, cpu_us_per_request }) => {
    return new Map([...sharesOf(profile, root)].map(([name, share]) => [name, share * cpu_us_per_request]))
  })
  const changed = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    return { name, base_us: before.get(name) ?? 0, head_us: after.get(name) ?? 0 }
  })
  const by = (/** @type {Changed} */ { base_us, head_us }) => Math.abs(head_us - base_us)
  return changed.sort((a, b) => by(b) - by(a)).slice(0, TOP)
}

/** Share of the busy time that each function itself took. @param {CpuProfile} profile @param {string} root @returns {Map<string, number>} */
function sharesOf({ nodes, samples, timeDeltas }, root) {
  const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame, root)]))
  /** @type {Map<string, number>} */
  const times_us = new Map()
  for (const [i, id] of samples.entries()) {
    const name = String(names.get(id))
    if (!IDLE.includes(name)) times_us.set(name, (times_us.get(name) ?? 0) + timeDeltas[i])
  }
  const all_us = [...times_us.values()].reduce((sum, time_us) => sum + time_us, 0)
  return new Map([...times_us].map(([name, time_us]) => [name, time_us / all_us]))
}

/** Its name and file, without the line, which a change above it moves. @param {CpuProfile['nodes'][0]['callFrame']} frame @param {string} root */
function nameOf({ functionName, url }, root) {
  const name = functionName || '(anonymous)'
  const file = url.startsWith('file:') ? path.relative(root, fileURLToPath(url)) : url
  return file === '' ? name : `${name} (${file})`
}

/** The largest profile in a folder: that of the service, and not of npm. @param {string} folder @returns {CpuProfile | null} null: none was written */
export function readProfile(folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.cpuprofile')) : []
  const [largest] = files.map((name) => path.join(folder, name)).sort((a, b) => statSync(b).size - statSync(a).size)
  return largest === undefined ? null : JSON.parse(readFileSync(largest, 'utf8'))
}
