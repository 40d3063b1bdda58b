import { spawnSync } from 'node:child_process'
import { UsageError } from '../../command/errors.js'

/** What the drivers share that are programs of others. */

/** @param {string} name of a program @param {string} install the command that installs it @throws {UsageError} */
export function requireProgram(name, install) {
  if (spawnSync('sh', ['-c', `command -v ${name}`]).status === 0) return
  throw new UsageError(`--driver: expected ${name} on PATH, found none: ${install}`)
}

/** What a program says is its version. @param {string} program @param {string} flag @param {RegExp} pattern whose first group it is */
export function versionOf(program, flag, pattern) {
  return spawnSync(program, [flag], { encoding: 'utf8' }).stdout?.match(pattern)?.[1] ?? 'unknown'
}
