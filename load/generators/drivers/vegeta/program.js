import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../../command/errors.js'
import { foreignProgram, versionOf } from '../../../system/processes.js'

/** Pinned: the format of the results and the pacing differ between versions. */
export const VERSION = 'v12.13.0'

const BUILT = fileURLToPath(new URL('bin/vegeta', import.meta.url))

/**
 * Path of the vegeta that was built here, else of the one on PATH.
 *
 * @param {string} [built]
 * @throws {UsageError} if there is none, others may write to it, or it has another version
 */
export function binary(built = BUILT) {
  const isBuilt = existsSync(built)
  const problem = isBuilt && foreignProgram(built)
  if (problem) {
    const safe = 'a vegeta that you or root own and nobody else may write to'
    throw new UsageError(`--driver: expected ${safe}, got ${problem}: remove it and run \`npm run vegeta\``)
  }
  const file = isBuilt ? built : spawnSync('sh', ['-c', 'command -v vegeta'], { encoding: 'utf8' }).stdout?.trim()
  const needs = '(needs Go 1.22 or newer)'
  const expected = (/** @type {string} */ what) => new UsageError(`--driver: expected vegeta ${what} ${needs}`)
  if (!file) throw expected('on PATH, found none: `npm run vegeta` builds it')
  const version = versionOfVegeta(file)
  if (version === VERSION) return file
  throw expected(`${VERSION}, got ${version} (${file}): \`npm run vegeta\` builds it`)
}

/** @param {string} file @returns {string} such as v12.13.0 */
export function versionOfVegeta(file) {
  return versionOf(file, '-version', /^Version: (\S+)/m)
}
