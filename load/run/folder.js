import fs from 'node:fs'
import { UsageError } from '../command/errors.js'
import { isLock } from './folder-lock.js'

const SHOWN = 3

/**
 * Results need an empty folder, so that they never overwrite existing files.
 *
 * @param {string} folder
 * @throws {UsageError} if it holds anything
 */
export function refuseForeign(folder) {
  if (!fs.existsSync(folder)) return
  const names = fs.readdirSync(folder).filter((name) => !isLock(name))
  if (names.length === 0) return
  const more = names.length > SHOWN ? ', …' : ''
  throw new UsageError(
    `--out: expected a new or empty folder, got ${folder}, which holds ${names.slice(0, SHOWN).join(', ')}${more}`,
  )
}

/**
 * What is appended to would follow a link to wherever it leads.
 *
 * @param {string} folder of a run
 * @throws {UsageError} if any of its files is a link
 */
export function refuseLinks(folder) {
  const link = fs.readdirSync(folder, { withFileTypes: true }).find((entry) => entry.isSymbolicLink())
  if (link)
    throw new UsageError(`--resume: expected a run's own files in ${folder}, got the symbolic link ${link.name}`)
}
