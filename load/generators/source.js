import { statSync } from 'node:fs'
import { UsageError } from '../command/errors.js'
import { readable } from './flag-file.js'

/** @import { Source } from '../report/record.js' */

/**
 * Identifies a file, to check later that it is unchanged. Stores none of its content: even a digest would let others guess a short secret.
 * @param {Source['flag']} flag @param {string} file @returns {Source}
 */
export function sourceOf(flag, file) {
  const { size, mtime } = readable(flag, () => statSync(file))
  return { flag, file, bytes: size, modified_at: mtime.toISOString() }
}

/** @param {Source} source @throws {UsageError} if the file has changed since */
export function refuseChanged(source) {
  const { file, bytes, modified_at } = sourceOf(source.flag, source.file)
  if (bytes === source.bytes && modified_at === source.modified_at) return
  throw new UsageError(
    `--${source.flag}: expected ${file} as it was when the run began (${source.bytes} bytes of ${source.modified_at}), got ${bytes} bytes of ${modified_at}: restore it, or begin a new run`,
  )
}
