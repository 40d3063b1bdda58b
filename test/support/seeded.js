/**
 * Parameters of a property with the same seed in every run, so that what passes once passes always. Other seeds:
 * `SEED=123 node test/unit/load/generators/drivers/response.test.js`.
 * @param {number} numRuns
 */
export function seeded(numRuns) {
  return { numRuns, seed: Number(process.env.SEED ?? 1) }
}
