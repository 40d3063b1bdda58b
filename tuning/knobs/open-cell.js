import { NotApplied, ServiceEnded, UsageError } from '../../load/command/errors.js'
import { openApi } from '../../load/targets/index.js'
import { KNOBS } from './knobs.js'
import { MEANS } from './means.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { Cell } from '../../load/report/record.js'
 */

const ORDER = Object.keys(MEANS)

/**
 * Opens the API with its knobs turned, each read back. @param {Cell} cell a name that is not a knob's is a setting of the API
 * @param {Place} place @returns {Promise<Target>} its settings include the cell's
 * @throws {NotApplied} when a level could not be set, or is not what was read back
 */
export async function openCell(cell, place) {
  const knobs = Object.entries(cell).map(([name, level]) => ({ name, level, by: KNOBS[name]?.by ?? 'environment' }))
  /** @type {(() => Promise<void>)[]} */
  const ends = []
  const stop = async () => {
    /** @type {unknown[]} */
    const failed = []
    // Call every end, even if others fail: each has something of its own to remove.
    for (const end of ends.splice(0).reverse()) await end().catch((error) => failed.push(error))
    if (failed.length > 0) throw failed[0]
  }
  try {
    let where = place
    /** @type {Target['settings']} */
    const added = {}
    /** @type {Target['fill']} */
    let filling
    for (const { name, level, by } of knobs.toSorted((a, b) => ORDER.indexOf(a.by) - ORDER.indexOf(b.by))) {
      const { end, fill, settings, ...changed } = await MEANS[by].turn(where, level, name)
      if (end) ends.push(end)
      if (fill) filling = fill
      Object.assign(added, settings)
      where = { ...where, ...changed }
    }
    const target = await openApi(where)
    ends.push(target.stop)
    for (const { name, level, by } of knobs) {
      const found = await MEANS[by].readBack(target, where, level, name)
      if (String(found) !== String(level)) {
        throw new NotApplied(`${name}: expected ${level} when it was read back, got ${found}`)
      }
      added[name] = /^\d+$/.test(String(level)) ? Number(level) : level
    }
    return { ...target, ...(filling && { fill: filling }), settings: { ...target.settings, ...added }, stop }
  } catch (error) {
    await stop()
    const { code, syscall, path } = /** @type {NodeJS.ErrnoException} */ (error)
    // Not every system has the programs that apply a knob: macOS lacks prlimit.
    if (code === 'ENOENT' && syscall?.startsWith('spawn'))
      throw new NotApplied(`expected ${path} on this machine, got none`)
    throw error instanceof ServiceEnded || error instanceof UsageError ? new NotApplied(error.message) : error
  }
}
