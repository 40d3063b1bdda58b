import fc from 'fast-check'
import { simulate } from '../../support/simulation/run.js'
import { scenarios } from '../../support/simulation/scenario.js'

/**
 * The API, from a request to the bytes for Postgres, on a virtual clock and on a Postgres in memory that answers late, in
 * pieces, with every kind of error, or never. Time, schedule and trouble come from a seed.
 *
 * A failure prints a seed and a path. They replay the smallest run that failed, in milliseconds:
 *
 *     SEED=123 SEED_PATH=45:6:7 node test/unit/api/simulation.test.js
 *
 * More seeds, and others each time:
 *
 *     SEEDS=5000 node test/unit/api/simulation.test.js
 */
const { SEEDS, SEED, SEED_PATH } = process.env

/** `npm test` has to give the same result each time. */
const USUAL = { numRuns: 200, seed: 1 }
const parameters = {
  ...(SEEDS === undefined ? USUAL : { numRuns: Number(SEEDS) }),
  ...(SEED !== undefined && { seed: Number(SEED) }),
  ...(SEED_PATH !== undefined && { path: SEED_PATH, endOnFailure: true }),
}

const start_ms = performance.now()
const details = await fc.check(
  fc.asyncProperty(scenarios, async (scenario) => void (await simulate(scenario))),
  { ...parameters, includeErrorInReport: true },
)
const seconds = (performance.now() - start_ms) / 1000

// Imported last: tap watches each promise, which takes several times as long as the simulation itself.
const { default: t } = await import('tap')

t.test(`${details.numRuns} seeds: whatever Postgres does, each answer is true`, async (t) => {
  t.comment(`seed ${details.seed}, ${(details.numRuns / seconds).toFixed(0)} seeds per second`)
  if (details.failed) t.comment(fc.defaultReportMessage(details))
  t.notOk(details.failed, details.failed ? `replay: SEED=${details.seed} SEED_PATH=${details.counterexamplePath}` : '')
})
