import { paragraph, table } from './blocks.js'
import { decimal } from './format.js'

/**
 * @import { Block } from './blocks.js'
 * @typedef {{ name: string, base_us: number, head_us: number }} Change of the CPU time of a request
 */

/** A table of the parts of a request that changed most. @param {{ what: string, column: string }} names @param {Change[]} changes @returns {Block[]} */
export function changesTable({ what, column }, changes) {
  if (changes.length === 0) return []
  const rows = changes.map((change) => {
    const { name, base_us, head_us } = change
    return [`\`${name}\``, `${decimal(base_us, 1)} us`, `${decimal(head_us, 1)} us`, changeText(change)]
  })
  return [
    paragraph(`Where the CPU time of a request went, by the ${what} that changed most (without what they call):`),
    table([column, 'base', 'head', 'change'], rows),
  ]
}

/** A sentence with the part that costs most in addition; empty if none costs more. @param {Change[]} changes */
export function largestText(changes) {
  const [most] = changes.toSorted((a, b) => b.head_us - b.base_us - (a.head_us - a.base_us))
  if (!most || most.head_us <= most.base_us) return ''
  return `The largest part is in ${most.name}: ${changeText(most)} a request.`
}

/** @param {Change} change */
function changeText({ base_us, head_us }) {
  return `${head_us > base_us ? '+' : ''}${decimal(head_us - base_us, 1)} us`
}
