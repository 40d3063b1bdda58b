const STEP = 0x6d2b79f5

/** Returns mulberry32, Tommy Ettinger's generator of 32 bits: the next number in [0, 1), the same for the same seed. @param {number} seed */
export function seededRandom(seed) {
  let state = seed
  return () => {
    state = (state + STEP) | 0
    return scrambled(state)
  }
}

/** Number `n`, from 0, of seededRandom, without those before it. @param {number} seed @param {number} n */
export function randomAt(seed, n) {
  return scrambled((seed + Math.imul(n + 1, STEP)) | 0)
}

/** A draw from the standard normal distribution (Box and Muller). @param {() => number} random the next number in [0, 1) */
export function normal(random) {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
}

/** @param {number} state */
function scrambled(state) {
  let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
}
