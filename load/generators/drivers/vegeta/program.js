import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../../command/errors.js'
import { foreignProgram } from '../../../system/processes.js'

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
  if (problem) {
    throw new UsageError(
      `--driver: expected a vegeta that you or root own and nobody else may write to, got ${problem}: remove it and run \`npm run vegeta\``,
    )
  }
  const file = isBuilt ? built : spawnSync('sh', ['-c', 'command -v vegeta'], { encoding: 'utf8' }).stdout?.trim()
  if (!file)
    throw new UsageError(
      '--driver: expected vegeta on PATH or built by `npm run vegeta` (needs Go 1.22 or newer), found neither',
    )
  const version = versionOf(file)
  if (version === VERSION) return file
  throw new UsageError(
    `--driver: expected vegeta ${VERSION}, got ${version} (${file}): \`npm run vegeta\` builds it (needs Go 1.22 or newer)`,
  )
}

/** @param {string} file @returns {string} such as v12.13.0 */
export function versionOf(file) {
  const { stdout } = spawnSync(file, ['-version'], { encoding: 'utf8' })
  return stdout?.match(/^Version: (\S+)/m)?.[1] ?? 'unknown'
}
