import { fileURLToPath } from 'node:url'

/** Whether this code runs from an installed package, not from a checkout with its own scripts. */
const IS_INSTALLED = fileURLToPath(import.meta.url).includes('/node_modules/')

/** Scripts whose name differs from their verb. @type {Record<string, string>} */
const VERB_OF = { 'bench:generators': 'generators' }

/**
 * Rewrites the commands in a text to what its reader can type: `npm run sweep -- --quick` in a checkout, `redline sweep --quick`
 * with an installed package.
 * @param {string} text @param {boolean} [isInstalled]
 */
export function spoken(text, isInstalled = IS_INSTALLED) {
  if (!isInstalled) return text
  return text.replace(/\bnpm run (?:--silent )?([a-z][a-z:-]*)( --(?=\s))?/g, (_, script) => {
    return `redline ${VERB_OF[script] ?? script}`
  })
}
