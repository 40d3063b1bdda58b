/**
 * The head and the rows of a table: each column is the head and what it says of an item.
 * @template T @param {T[]} items one per row @param {[head: string, text: (item: T) => string][]} columns
 * @returns {[head: string[], rows: string[][]]}
 */
export function columnsOf(items, columns) {
  return [columns.map(([head]) => head), items.map((item) => columns.map(([, text]) => text(item)))]
}
