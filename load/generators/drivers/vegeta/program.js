import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { UsageError } from '../../../command/errors.js'
import { foreignProgram, versionOf } from '../../../system/processes.js'

/** Pinned: the format of the results and the pacing differ between versions. */
export const VERSION = 'v12.13.0'

const BUILT = fileURLToPath(new URL('bin/vegeta', import.meta.url))

/** Returns the path of the vegeta built here, or else of the one on PATH. @throws {UsageError} if none is fit to run */
export function binary(built = BUILT) {
  const isBuilt = existsSync(built)
  const problem = isBuilt && foreignProgram(built)
  if (problem) {
    const safe = 'a vegeta that you or root own and nobody else may write to'
    throw new UsageError(`--driver: expected ${safe}, got ${problem}: remove it and run \`npm run vegeta\``)
  }
  const file = isBuilt ? built : spawnSync('sh', ['-c', 'command -v vegeta'], { encoding: 'utf8' }).stdout?.trim()
  const version = file && versionOf(file, '-version', /^Version: (\S+)/m)
  if (file && version === VERSION) return file
  const got = file ? `${VERSION}, got ${version} (${file})` : 'on PATH, found none'
  throw new UsageError(`--driver: expected vegeta ${got}: \`npm run vegeta\` builds it (needs Go 1.22 or newer)`)
}
