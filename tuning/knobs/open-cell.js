import { NotApplied, ServiceEnded, UsageError } from '../../load/command/errors.js'
import { openApi } from '../../load/targets/index.js'
import { KNOBS } from './knobs.js'
import { MEANS } from './means.js'

/**
 * @import { Place } from '../../load/run/site.js'
 * @import { Target } from '../../load/targets/index.js'
 * @import { GeneratorPart } from './means.js'
 * @import { Cell } from '../../load/report/record.js'
 */

/**
 * The API with its knobs turned, each read back.
 *
 * @param {Cell} cell
 * @param {Place} place
 * @returns {Promise<Target>} its settings include the knobs
 * @throws {NotApplied} when a level could not be set, or is not what was read back
 */
export async function openCell(cell, place) {
  const turned = Object.entries(cell).map(([name, level]) => ({ name, level, means: MEANS[KNOBS[name].by] }))
  let where = place
  for (const { name, level, means } of turned) where = (await means.apply?.(where, name, level)) ?? where
  /** @type {(() => Promise<void>)[]} */
  const ends = []
  const stop = async () => {
    /** @type {unknown[]} */
    const failed = []
    // Each has something of its own to remove, even if others fail.
    for (const end of ends.splice(0).reverse()) await end().catch((error) => failed.push(error))
    if (failed.length > 0) throw failed[0]
  }
  try {
    for (const { level, means } of turned) if (means.plant) ends.push(await means.plant(where, level))
    /** @type {Record<string, string>} */
    const own = {}
    for (const { level, means } of turned) {
      if (!means.between) continue
      const { place: next, settings, end } = await means.between(where, level)
      ends.push(end)
      Object.assign(own, settings)
      where = next
    }
    const target = await openApi(where).catch((error) => {
      const isRefused = error instanceof ServiceEnded || error instanceof UsageError
      throw isRefused ? new NotApplied(error.message) : error
    })
    ends.push(target.stop)
    const settings = { ...target.settings, ...own }
    for (const { name, level, means } of turned) {
      const found = await means.readBack(target, where, name, level)
      if (found !== String(level))
        throw new NotApplied(`${name}: expected ${level} when it was read back, got ${found}`)
      settings[name] = /^\d+$/.test(found) ? Number(found) : found
    }
    return { ...target, settings, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What the generator does differently for this cell. @param {Cell} cell @returns {GeneratorPart} */
export function loadOf(cell) {
  return Object.assign({}, ...Object.entries(cell).map(([name, level]) => MEANS[KNOBS[name].by].load?.(name, level)))
}
