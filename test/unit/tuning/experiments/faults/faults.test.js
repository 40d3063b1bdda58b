import t from 'tap'
import { DETECTORS } from '../../../../../load/verdict/detectors/index.js'
import { FAULTS } from '../../../../../tuning/experiments/faults/index.js'
import { confusionTable, plantedTrial, problemOf } from '../../../../../tuning/experiments/faults/table.js'

/** Resources without a planted fault, and why. */
const UNPLANTED = {
  'max-connections': 'the same counter as nofile, read against a setting of the API: tests of the API set it',
  'generator-connections': 'a command line that asks for too few connections, which no fault around the service makes',
}

t.test('each resource that the diagnosis can name has one planted fault, or a reason why it has none', async (t) => {
  const planted = FAULTS.map(({ resource }) => resource)
  const detected = DETECTORS.map(({ resource }) => resource)
  t.strictSame([...planted, ...Object.keys(UNPLANTED)].sort(), [...detected, 'none-reached'].sort())
  t.equal(new Set(FAULTS.map(({ name }) => name)).size, FAULTS.length)
})

t.test('the table says what was planted, what was named, and whether relaxing it helped', async (t) => {
  const record = (/** @type {string} */ cell, /** @type {string} */ resource, verdict = 'fail') => {
    const limit = { resource, runner_up: null, evidence: ['why'], runner_up_evidence: [], confirmed: null }
    return /** @type {any} */ ({
      cell,
      experiment: 'faults/0',
      limit,
      outcome: { verdict },
      traffic: { goodput_rps: 1 },
    })
  }
  const records = [
    record('pool-of-one', 'pool-size'),
    record('pool-of-one with POOL_MAX=4', 'none-reached', 'pass'),
    record('limiter', 'network'),
  ]
  const table = confusionTable(records)
  t.match(table, /\| pool-of-one \| pool-size +\| pool-size +\| – +\| yes: POOL_MAX=4 \| 1 of 1 \|/)
  t.match(table, /\| limiter +\| rate-limit \| network +\|.*\| 0 of 1 \|/)
  t.match(table, /1 of 2 named right/)
  t.match(
    problemOf({ repeats: 1, faults: ['pool-of-one', 'limiter'] }, records),
    'limiter: expected rate-limit, got network',
  )
  t.equal(problemOf({ repeats: 1, faults: ['pool-of-one'] }, records.slice(0, 2)), null)
  const noisy = record('limiter', 'machine-noise', 'invalid')
  t.equal(plantedTrial([noisy]), undefined, 'what a neighbour spoiled is repeated')
  t.equal(plantedTrial([noisy, records[2]]), records[2])
  t.equal(plantedTrial([noisy, noisy, noisy]), noisy, 'three times at the most')
  const crowd = record('noisy-neighbours', 'machine-noise', 'invalid')
  t.equal(plantedTrial([crowd]), crowd, 'unless the neighbour is what was planted')
  t.match(problemOf({ repeats: 2, faults: ['pool-of-one'] }, records.slice(0, 2)), '1 of 2 faults were tried')
})
