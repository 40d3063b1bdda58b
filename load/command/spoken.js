import { fileURLToPath } from 'node:url'

/** Whether we are a package that somebody installed, and not a checkout with its own scripts. */
const IS_INSTALLED = fileURLToPath(import.meta.url).includes('/node_modules/')

/** Scripts that have another name than their verb. @type {Record<string, string>} */
const VERB_OF = { 'bench:generators': 'generators' }

/**
 * A text with the commands that its reader can type: `npm run sweep -- --quick` in a checkout, `redline sweep --quick` where the package
 * is installed.
 * @param {string} text @param {boolean} [isInstalled]
 */
export function spoken(text, isInstalled = IS_INSTALLED) {
  if (!isInstalled) return text
  return text.replace(/\bnpm run (?:--silent )?([a-z][a-z:-]*)( --(?=\s))?/g, (_, script) => {
    return `redline ${VERB_OF[script] ?? script}`
  })
}
