import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {{ nodes: { id: number, callFrame: { functionName: string, url: string, lineNumber: number } }[], samples: number[],
 *   timeDeltas: number[] }} CpuProfile as V8 writes it; timeDeltas in us
 * @typedef {CpuProfile['nodes'][0]['callFrame']} Frame
 * @typedef {Record<'base' | 'head', { profile: CpuProfile, root: string, cpu_us_per_request: number }>} Profiles root: folder of a checkout
 * @import { Change } from '../report/changes.js'
 */

/** File that names the checkout: a resumed run has another one. */
const ROOT = 'root'
/** Number of entries to list. */
const TOP = 8
const IDLE = ['(idle)', '(root)']
const NATIVE = '(Node.js itself)'

/**
 * Makes a folder for the profile of a program, and returns the URL of a module that writes the profile there if it is preloaded.
 * @param {string} folder @param {string} root folder of the program's checkout
 */
export function profilerIn(folder, root) {
  mkdirSync(folder, { recursive: true })
  writeFileSync(path.join(folder, ROOT), root)
  const url = new URL('profiler.js', import.meta.url)
  url.searchParams.set('folder', folder)
  return url.href
}

/**
 * The functions, or the files and packages, in which a request's time has changed most, without what they call. Pure.
 * @param {Profiles} sides @param {typeof functionOf} nameOf functionOf or stageOf @returns {Change[]}
 */
export function changesOf({ base, head }, nameOf) {
  const [before, after] = [base, head].map(({ profile, root, cpu_us_per_request }) => {
    const shares = sharesOf(profile, (frame) => nameOf(frame, root))
    return new Map([...shares].map(([name, share]) => [name, share * cpu_us_per_request]))
  })
  const changed = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    return { name, base_us: before.get(name) ?? 0, head_us: after.get(name) ?? 0 }
  })
  const by = (/** @type {Change} */ { base_us, head_us }) => Math.abs(head_us - base_us)
  return changed.sort((a, b) => by(b) - by(a)).slice(0, TOP)
}

/** Share of the busy time that each name took. @param {CpuProfile} profile @param {(frame: Frame) => string} nameOf @returns {Map<string, number>} */
function sharesOf({ nodes, samples, timeDeltas }, nameOf) {
  const busy = nodes.filter(({ callFrame }) => !IDLE.includes(callFrame.functionName))
  const names = new Map(busy.map(({ id, callFrame }) => [id, nameOf(callFrame)]))
  /** @type {Map<string, number>} */
  const times_us = new Map()
  for (const [i, id] of samples.entries()) {
    const name = names.get(id)
    if (name) times_us.set(name, (times_us.get(name) ?? 0) + timeDeltas[i])
  }
  const all_us = [...times_us.values()].reduce((sum, time_us) => sum + time_us, 0)
  return new Map([...times_us].map(([name, time_us]) => [name, time_us / all_us]))
}

/** Name and file of a function, without its line, which any change above it would shift. @param {Frame} frame @param {string} root */
export function functionOf({ functionName, url }, root) {
  const name = functionName || '(anonymous)'
  const file = fileOf(url, root)
  return file === '' ? name : `${name} (${file})`
}

/** The file that contains a function, or the package if it is a dependency. @param {Frame} frame @param {string} root */
export function stageOf({ functionName, url }, root) {
  const file = fileOf(url, root)
  if (file === '') return functionName === '(garbage collector)' ? functionName : NATIVE
  const [, name] = file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/) ?? []
  return name ?? file
}

/** The file of a URL, relative to the root; empty for native code of V8 and Node.js. @param {string} url @param {string} root */
function fileOf(url, root) {
  return url.startsWith('file:') ? path.relative(root, fileURLToPath(url)) : url
}

/**
 * The profiles of both sides, each from its own folder. @param {string} folder @param {Record<string, number | undefined>} costs_us CPU time
 * of a request to each side @returns {Profiles | null} null unless both were written
 */
export function readProfiles(folder, costs_us) {
  const sides = ['base', 'head'].flatMap((side) => {
    const [found, cpu_us_per_request] = [readProfile(path.join(folder, side)), costs_us[side]]
    return found && cpu_us_per_request ? { ...found, cpu_us_per_request } : []
  })
  return sides.length === 2 ? { base: sides[0], head: sides[1] } : null
}

/**
 * The largest profile in a folder, which is the service's rather than npm's, and the folder of the checkout whose files it names.
 * @param {string} folder @returns {{ profile: CpuProfile, root: string } | null} null if none was written
 */
function readProfile(folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.cpuprofile')) : []
  const [largest] = files.map((name) => path.join(folder, name)).sort((a, b) => statSync(b).size - statSync(a).size)
  // A run of an older version did not write the root.
  if (largest === undefined || !existsSync(path.join(folder, ROOT))) return null
  return { profile: JSON.parse(readFileSync(largest, 'utf8')), root: readFileSync(path.join(folder, ROOT), 'utf8') }
}
