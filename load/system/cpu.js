/** CPU time of all threads of this process. */
export function cpu_us() {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Keeps this thread busy, in one piece. @param {number} us of CPU time: a spin by the wall clock would not last longer on a slower core */
export function burn_us(us) {
  for (const until_us = cpu_us() + us; cpu_us() < until_us; );
}
