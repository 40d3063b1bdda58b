import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { leashed } from '../../sql/leash.js'
import { NotApplied } from '../command/errors.js'
import { NODE_PINS } from './node-pins.js'
import { isOwnProgram } from './processes.js'

const run = promisify(execFile)
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/redline/', import.meta.url))
const INSTALL_TIMEOUT_MS = 180_000

/** Scripts of a package would run as us: what it needs is in its tarball. */
const INSTALL = ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund']

/**
 * A Node of a major version: ours if it is the same, else the one that node-pins.js names for this system, fetched from npm
 * and kept for the next time.
 *
 * @param {string} major
 * @param {{ cache?: string, pins?: typeof NODE_PINS }} [options] cache: folder that keeps them
 * @returns {Promise<string>} its program
 * @throws {NotApplied} if there is no such version for this system, or it cannot be fetched
 */
export async function nodeOf(major, { cache = CACHE, pins = NODE_PINS } = {}) {
  if (process.versions.node.split('.')[0] === major) return process.execPath
  const system = `${process.platform}-${process.arch}`
  const pin = pins[major]?.[system]
  if (!pin) {
    const known = Object.keys(pins).filter((one) => system in pins[one])
    throw new NotApplied(`expected a Node for ${system} of major version ${known.join(', ') || '(none)'}, got ${major}`)
  }
  const folder = path.join(cache, `node-${pin.version}`)
  const program = path.join('node_modules', pin.name, 'bin', 'node')
  const kept = path.join(folder, program)
  if (isOwnProgram(kept)) return kept
  // It gets its name when it is complete: a run that is cut off leaves nothing that could be taken for it.
  const part = `${folder}.${process.pid}`
  try {
    await fetchInto(part, pin)
    refuseOther(path.join(part, program), pin.version)
    for (const one of [path.dirname(program), program]) chmodSync(path.join(part, one), 0o755)
    rmSync(folder, { recursive: true, force: true })
    renameSync(part, folder)
  } catch (error) {
    const { stderr, message } = /** @type {any} */ (error)
    const said = String(stderr)
      .split('\n')
      .find((line) => line.startsWith('npm error'))
    throw new NotApplied(`Node ${major} could not be fetched from npm (${pin.name}@${pin.version}): ${said ?? message}`)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
  return kept
}

/** npm compares what it gets with the hash in the lock file. @param {string} folder @param {Pin} pin */
async function fetchInto(folder, { name, version, integrity }) {
  const manifest = { name: 'redline-node', version: '1.0.0', private: true, dependencies: { [name]: version } }
  const packages = { '': manifest, [`node_modules/${name}`]: { version, integrity } }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  const lock = { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true, packages }
  writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock))
  const [npm, ...args] = leashed([...INSTALL, '--prefix', folder], { signal: 'KILL' })
  await run(npm, args, { timeout: INSTALL_TIMEOUT_MS })
}

/** @typedef {{ name: string, version: string, integrity: string }} Pin */

/** @param {string} program @param {string} version */
function refuseOther(program, version) {
  const found = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim()
  if (found !== `v${version}`) throw new Error(`expected it to be v${version}, got ${found}`)
}
