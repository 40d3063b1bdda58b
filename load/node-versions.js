import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
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
  const args = ['install', '--prefix', folder, '--no-save', '--no-audit', '--no-fund', `${name}@${major}`]
  await run('npm', args, { timeout: INSTALL_TIMEOUT_MS }).catch((error) => {
    const said =
      String(error.stderr)
        .split('\n')
        .find((line) => line.startsWith('npm error')) ?? error.message
    throw new NotApplied(`Node ${major} could not be installed from npm (${name}@${major}): ${said}`)
  })
  return program
}
