const STEP = 0x6d2b79f5

/** mulberry32, Tommy Ettinger's 32-bit generator of numbers in [0, 1). @param {number} seed */
export function seededRandom(seed) {
  let n = 0
  return () => randomAt(seed, n++)
}

/** Number `n` (from 0) of seededRandom's sequence, computed directly. @param {number} seed @param {number} n */
export function randomAt(seed, n) {
  const state = (seed + Math.imul(n + 1, STEP)) | 0
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}

/** A draw from the standard normal distribution (Box and Muller). @param {() => number} random the next number in [0, 1) */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}
