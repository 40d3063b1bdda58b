/**
 * The non-decreasing sequence that is nearest to some values by weighted least squares: pool adjacent violators
 * (Ayer et al. 1955; Barlow et al. 1972, section 1.2).
 *
 * @param {{ value: number, weight: number }[]} points in the order in which their values should rise; weights above 0
 * @returns {number[]} a fitted value for each point
 */
export function isotonicFit(points) {
  /** @type {{ value: number, weight: number, size: number }[]} */
  const blocks = []
  for (const { value, weight } of points) {
    let block = { value, weight, size: 1 }
    for (let last = blocks.at(-1); last && last.value >= block.value; last = blocks.at(-1)) {
      blocks.pop()
      block = pooled(last, block)
    }
    blocks.push(block)
  }
  return blocks.flatMap(({ value, size }) => Array(size).fill(value))
}

/** @typedef {{ value: number, weight: number, size: number }} Block @param {Block} a @param {Block} b @returns {Block} */
function pooled(a, b) {
  const weight = a.weight + b.weight
  return { value: (a.value * a.weight + b.value * b.weight) / weight, weight, size: a.size + b.size }
}
