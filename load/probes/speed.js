/** In 4-byte words: 1 MiB, which no first-level cache holds. */
const WORDS = 1 << 18
const STEPS = 200_000
const REPEATS = 5

const memory = new Uint32Array(WORDS)

/**
 * How long this machine takes for a fixed piece of work now: CPU time, so that waiting for a core does not count. What is
 * left is the speed of the core itself, which a neighbour on the same physical core, the clock, or a full memory bus may
 * halve, without a trace in steal or pressure.
 *
 * @returns {number} microseconds, the least of a few: about 10 ms in all
 */
export function fixedWork_us() {
  const times = Array.from({ length: REPEATS }, () => {
    const { user: before } = process.cpuUsage()
    work()
    return process.cpuUsage().user - before
  })
  return Math.min(...times)
}

/** Random reads and writes, each of which needs the one before. */
function work() {
  let state = 1
  for (let step = 0; step < STEPS; step++) {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    const at = state & (WORDS - 1)
    memory[at] = state = (state + memory[at]) | 1
  }
}
