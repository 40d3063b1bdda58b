import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../../command/errors.js'
import { foreignProgram } from '../../../system/processes.js'
import { versionOf } from '../outside.js'

/** What its results look like, and how it keeps to a rate, differs between versions. */
export const VERSION = 'v12.13.0'

const BUILT = fileURLToPath(new URL('bin/vegeta', import.meta.url))

/**
 * The program that was built here, else the one on PATH.
 *
 * @param {string} [built]
 * @returns {string} its file
 * @throws {UsageError} if there is none, somebody else could have put it there, or it has another version
 */
export function binary(built = BUILT) {
  const isBuilt = existsSync(built)
  const problem = isBuilt && foreignProgram(built)
  const safe = 'a vegeta that you or root own and nobody else may write to'
  if (problem) throw new UsageError(`--driver: expected ${safe}, got ${problem}: remove it and run \`npm run vegeta\``)
  const file = isBuilt ? built : spawnSync('sh', ['-c', 'command -v vegeta'], { encoding: 'utf8' }).stdout?.trim()
  const needs = '(needs Go 1.22 or newer)'
  if (!file)
    throw new UsageError(`--driver: expected vegeta on PATH or built by \`npm run vegeta\` ${needs}, found neither`)
  const version = versionOfVegeta(file)
  if (version === VERSION) return file
  const found = `got ${version} (${file})`
  throw new UsageError(`--driver: expected vegeta ${VERSION}, ${found}: \`npm run vegeta\` builds it ${needs}`)
}

/** @param {string} file @returns {string} such as v12.13.0 */
export function versionOfVegeta(file) {
  return versionOf(file, '-version', /^Version: (\S+)/m)
}
