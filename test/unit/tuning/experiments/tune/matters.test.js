import t from 'tap'
import { canMatter } from '../../../../../tuning/experiments/tune/matters.js'

const KNOBS = ['INSERT_MODE', 'POOL_MAX', 'SEMI_SPACE_MB']

/** @param {string} suspect @param {string} resource @param {[number, number | null, number | null]} found @param {number} [factor] */
function one(suspect, resource, [elasticity, low, high], factor) {
  return { suspect, resource, elasticity, low, high, pairs: 8, ...(factor && { factor }) }
}

/** @type {[name: string, elasticities: ReturnType<typeof one>[], sentences: string[]][]} */
const CASES = [
  [
    'a resource whose speed moves the throughput can raise it; one that cannot is bounded by its interval',
    [one('Postgres', 'postgres-cpu', [1, 0.8, 1.2]), one('core 0', 'api-cpu', [0.05, -0.1, 0.1])],
    [
      'What can raise its capacity: halving the work of Postgres.',
      'What cannot raise it by much: halving the work of core 0 would gain at most 7 % (SEMI_SPACE_MB can do no more).',
    ],
  ],
  [
    'an interval that is too wide decides nothing, nor does one of too few pairs',
    [one('core 0', 'api-cpu', [0.3, -0.2, 0.8]), one('Postgres', 'postgres-cpu', [0.1, null, null])],
    ['Not decided: halving the work of core 0; halving the work of Postgres.'],
  ],
  [
    'a pool is bounded by what it gained, and the knob that sets it is named',
    [
      one('core 1', 'postgres-cpu', [0.9, 0.7, 1]),
      one('Postgres', 'postgres-cpu', [0.7, 0.5, 0.9]),
      one('POOL_MAX x 4', 'pool-size', [0.05, -0.05, 0.12], 4),
    ],
    [
      'What can raise its capacity: halving the work of core 1.',
      'What cannot raise it by much: a pool 4 times as large would gain at most 18 % (POOL_MAX can do no more).',
    ],
  ],
  [
    'where nothing that was slowed matters, the limit is something else',
    [one('core 0', 'api-cpu', [0, -0.1, 0.1]), one('the generator', 'generator-cpu', [0, -0.1, 0.1])],
    [
      'What cannot raise it by much: halving the work of core 0 would gain at most 7 % (SEMI_SPACE_MB can do no more).',
      'What limits it was not slowed: a disk, a lock or the way to the database, for example.',
    ],
  ],
]

for (const [name, elasticities, sentences] of CASES) {
  t.test(name, async (t) => t.strictSame(canMatter(elasticities, KNOBS), sentences))
}
