/**
 * The head and the rows of a table: each column is the head and what it says of an item.
 * @template T @typedef {[head: string, text: (item: T) => string]} Column
 */

/** @template T @param {T[]} items one per row @param {(Column<T> | false)[]} columns false: left out @returns {[head: string[], rows: string[][]]} */
export function columnsOf(items, columns) {
  const shown = columns.filter((column) => column !== false)
  return [shown.map(([head]) => head), items.map((item) => shown.map(([, text]) => text(item)))]
}
