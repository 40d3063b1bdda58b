import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'

/**
 * Runs every test file below a folder in this process (`bundleFiles`).
 * @param {string} folder
 * @param {{ without?: string[], isDeep?: boolean }} [options] without: files that need a process of their own; isDeep: folders in
 *   it count, too
 */
export function bundle(folder, { without = [], isDeep = true } = {}) {
  const files = fs
    .readdirSync(folder, { recursive: isDeep, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js') && !without.includes(name))
    .sort()
  return bundleFiles(files.map((name) => path.join(folder, name)))
}

/**
 * Runs test files in this process, one after the other, with the file's name before each test's. To load tap takes several
 * times as long as most unit tests. What a file has torn down at its end is gone before the next one begins.
 * @param {string[]} files
 */
export async function bundleFiles(files) {
  const { test, teardown } = t
  for (const file of files) {
    /** @type {PromiseLike<unknown>[]} */
    const running = []
    /** @type {(() => unknown)[]} */
    const endings = []
    t.test = /** @type {any} */ (
      (/** @type {string} */ about, /** @type {any[]} */ ...rest) => {
        const ended = Reflect.apply(test, t, [`${file} > ${about}`, ...rest])
        running.push(ended)
        return ended
      }
    )
    t.teardown = (ending) => void endings.unshift(ending)
    try {
      await import(pathToFileURL(file).href)
    } catch (error) {
      t.fail(`${file} cannot be loaded`, { error: String(/** @type {Error} */ (error).stack) })
    }
    try {
      await Promise.all(running)
      for (const ending of endings) await ending()
    } catch (error) {
      t.fail(`${file} does not end`, { error: String(/** @type {Error} */ (error).stack) })
    }
  }
  Object.assign(t, { test, teardown })
}
