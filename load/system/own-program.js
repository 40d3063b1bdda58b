import { existsSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'

/**
 * Programs that we have built or fetched are run again later. Whoever may write to such a file, or to its folder, would have
 * us run a program of theirs.
 *
 * @param {string} file
 * @returns {string | null} what is wrong, completing "got …"; null: it is ours or root's, and nobody else may write to it
 */
export function foreignProgram(file) {
  const real = realpathSync(file)
  for (const one of new Set([path.dirname(file), path.dirname(real), real])) {
    const { uid, mode } = statSync(one)
    const isOurs = uid === process.getuid?.() || uid === 0
    if (!isOurs || (mode & 0o022) !== 0) return `${one} of uid ${uid}, mode ${(mode & 0o777).toString(8)}`
  }
  return null
}

/** @param {string} file @returns {boolean} whether it is there and fit to be run */
export function isOwnProgram(file) {
  return existsSync(file) && foreignProgram(file) === null
}
