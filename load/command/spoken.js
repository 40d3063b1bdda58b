import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from '../../sql/attempt.js'

/**
 * How to call an installed package; null in a checkout, which has its own scripts.
 * @param {string} root folder of the package @param {string} cwd @param {(file: string) => string} [read] a file
 */
export function installedCommand(root, cwd, read = (file) => fs.readFileSync(file, 'utf8')) {
  const modules = path.dirname(root)
  if (path.basename(modules) !== 'node_modules') return null
  const holder = path.dirname(modules)
  // What npx was given, if it installed the package in its own cache.
  const packed = attempt(() => JSON.parse(read(path.join(holder, 'package.json')))._npx.packages[0], null)
  if (packed) return `npx --yes ${packed}`
  const isBelow = `${cwd}${path.sep}`.startsWith(`${holder}${path.sep}`)
  return isBelow ? 'npx redline' : 'redline'
}

const COMMAND = installedCommand(fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, ''), process.cwd())

/**
 * Rewrites the commands in a text to what its reader can type: `npm run sweep -- --quick` in a checkout, for example
 * `redline sweep --quick` with an installed package.
 * @param {string} text @param {string | null} [command]
 */
export function spoken(text, command = COMMAND) {
  if (command === null) return text
  return text.replace(/\bnpm run (?:--silent )?([a-z][a-z:-]*)( --(?=\s))?/g, (_, script) => `${command} ${script}`)
}
