import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/**
 * Runs every test file below a folder in this process, one after the other, with the file's name before each test's. To load
 * tap takes several times as long as most unit tests.
 *
 * @param {string} folder
 * @param {{ without?: string[], isDeep?: boolean }} [options] without: files that need a process of their own; isDeep: folders in
 *   it count, too
 */
export async function bundle(folder, { without = [], isDeep = true } = {}) {
  const files = fs
    .readdirSync(folder, { recursive: isDeep, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && !without.includes(name))
    .sort()
  const { test } = t
  for (const name of files) {
    const file = path.join(folder, name)
    /** @type {PromiseLike<unknown>[]} */
    const running = []
    t.test = /** @type {any} */ (
      (/** @type {string} */ about, /** @type {any[]} */ ...rest) => {
        const ended = Reflect.apply(test, t, [`${file} > ${about}`, ...rest])
        running.push(ended)
        return ended
      }
    )
    try {
      await import(pathToFileURL(file).href)
      await Promise.all(running)
    } catch (error) {
      t.fail(`${file} cannot be loaded`, { error: String(/** @type {Error} */ (error).stack) })
    }
  }
  t.test = test
}
