import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * @typedef {{ nodes: { id: number, callFrame: { functionName: string, url: string, lineNumber: number } }[], samples: number[],
 *   timeDeltas: number[] }} CpuProfile as V8 writes it; timeDeltas in us
 * @typedef {CpuProfile['nodes'][0]['callFrame']} Frame
 * @typedef {Record<'base' | 'head', { profile: CpuProfile, root: string, cpu_us_per_request: number }>} Profiles root: folder of a checkout
 * @typedef {{ name: string, base_us: number, head_us: number }} Changed time of a request in a function, a file or a package itself,
 *   without what it calls
 */

/** Entries that are listed. */
const TOP = 8
const IDLE = ['(idle)', '(root)']
const NATIVE = '(Node.js itself)'

/** The URL to preload into a program that shall write its profile to a folder. @param {string} folder */
export function profilerIn(folder) {
  const url = new URL('profiler.js', import.meta.url)
  url.searchParams.set('folder', folder)
  return url.href
}

/** The functions in which a request's time has changed most. Pure. @param {Profiles} sides */
export function changedFunctions(sides) {
  return changesOf(sides, functionOf)
}

/** The files and packages in which a request's time has changed most. Pure. @param {Profiles} sides */
export function changedStages(sides) {
  return changesOf(sides, stageOf)
}

/** @param {Profiles} sides @param {typeof functionOf} nameOf @returns {Changed[]} */
function changesOf({ base, head }, nameOf) {
  const [before, after] = [base, head].map(({ profile, root, cpu_us_per_request }) => {
    const shares = sharesOf(profile, (frame) => nameOf(frame, root))
    return new Map([...shares].map(([name, share]) => [name, share * cpu_us_per_request]))
  })
  const changed = [...new Set([...before.keys(), ...after.keys()])].map((name) => {
    return { name, base_us: before.get(name) ?? 0, head_us: after.get(name) ?? 0 }
  })
  const by = (/** @type {Changed} */ { base_us, head_us }) => Math.abs(head_us - base_us)
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

/** Its name and file, without the line, which a change above it moves. @param {Frame} frame @param {string} root */
function functionOf({ functionName, url }, root) {
  const name = functionName || '(anonymous)'
  const file = fileOf(url, root)
  return file === '' ? name : `${name} (${file})`
}

/** The file, or the package, that a function is of. @param {Frame} frame @param {string} root */
function stageOf({ functionName, url }, root) {
  const file = fileOf(url, root)
  if (file === '') return functionName === '(garbage collector)' ? functionName : NATIVE
  const [, name] = file.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)/) ?? []
  return name ?? file
}

/** Empty for what V8 and Node.js do in their own machine code. @param {string} url @param {string} root */
function fileOf(url, root) {
  return url.startsWith('file:') ? path.relative(root, fileURLToPath(url)) : url
}

/** The largest profile in a folder: that of the service, and not of npm. @param {string} folder @returns {CpuProfile | null} null: none was written */
export function readProfile(folder) {
  const files = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.cpuprofile')) : []
  const [largest] = files.map((name) => path.join(folder, name)).sort((a, b) => statSync(b).size - statSync(a).size)
  return largest === undefined ? null : JSON.parse(readFileSync(largest, 'utf8'))
}
