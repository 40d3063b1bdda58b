import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** What runs on a host: programs alone. Results, .env, .npmrc and .git are nobody's business there. */
const FOLDERS = ['api', 'load', 'sql', 'tuning']
const PROGRAM = /\.(js|sql)$/

/** What npm needs to bring the packages. */
const PACKAGES = ['package.json', 'package-lock.json']

/**
 * The part of this checkout that a host needs, and names for it that change with it.
 *
 * @returns {Bundle}
 *
 * @typedef {object} Bundle
 * @property {string} code name of the folder with the programs
 * @property {string} modules name of the folder with the packages
 * @property {Record<string, string>} files text by path
 * @property {Record<string, string>} packages the same, for npm
 */
export function bundleOf() {
  const names = FOLDERS.flatMap((folder) => {
    return readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => PROGRAM.test(name))
      .map((name) => path.posix.join(folder, name.split(path.sep).join('/')))
  })
  const packages = textsOf(PACKAGES)
  const files = { ...textsOf(names.sort()), ...packages }
  return { code: `code-${hashOf(files)}`, modules: `modules-${hashOf(packages)}`, files, packages }
}

/** @param {string[]} names @returns {Record<string, string>} */
function textsOf(names) {
  return Object.fromEntries(names.map((name) => [name, readFileSync(path.join(ROOT, name), 'utf8')]))
}

/** @param {Record<string, string>} files */
function hashOf(files) {
  return createHash('sha256').update(JSON.stringify(files)).digest('hex').slice(0, 16)
}
