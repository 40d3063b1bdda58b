import { execFile } from 'node:child_process'
import { existsSync, renameSync, rmSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { leashed } from '../sql/leash.js'
import { NotApplied } from './not-applied.js'

const run = promisify(execFile)
const CACHE = fileURLToPath(new URL('../node_modules/.cache/redline/', import.meta.url))
const INSTALL_TIMEOUT_MS = 180_000

/**
 * A Node of a major version: ours if it is the same, else the newest that npm has for this system, kept for the next time.
 *
 * @param {string} major
 * @returns {Promise<string>} its program
 * @throws {NotApplied} where npm has none
 */
export async function nodeOf(major) {
  if (process.versions.node.split('.')[0] === major) return process.execPath
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const folder = path.join(CACHE, `node-${major}`)
  const program = path.join(folder, 'node_modules', name, 'bin', 'node')
  if (existsSync(program)) return program
  // It gets its name when it is complete: who is cut off leaves nothing that could be taken for it.
  const part = `${folder}.${process.pid}`
  const install = ['npm', 'install', '--prefix', part, '--no-save', '--no-audit', '--no-fund', `${name}@${major}`]
  const [npm, ...args] = leashed(install, { signal: 'KILL' })
  try {
    await run(npm, args, { timeout: INSTALL_TIMEOUT_MS })
    rmSync(folder, { recursive: true, force: true })
    renameSync(part, folder)
  } catch (error) {
    const { stderr, message } = /** @type {any} */ (error)
    const said = String(stderr)
      .split('\n')
      .find((line) => line.startsWith('npm error'))
    throw new NotApplied(`Node ${major} could not be installed from npm (${name}@${major}): ${said ?? message}`)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
  return program
}
