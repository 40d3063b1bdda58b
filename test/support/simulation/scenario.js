import fc from 'fast-check'
import { LOGIN_FAULTS, STATEMENT_FAULTS, STORMS } from './faults.js'

/** @import { Scenario } from './run.js' */

const MODES = ['single', 'prepared', 'pipelined', 'batched']

/** Mostly quick, at times slower than each of the timeouts. */
const duration_ms = fc.oneof(
  { weight: 6, arbitrary: fc.nat(5) },
  { weight: 3, arbitrary: fc.nat(100) },
  { weight: 1, arbitrary: fc.nat(3000) },
)

/** @param {Record<string, unknown>} faults */
function steps(faults) {
  const fault = fc.oneof({ weight: 5, arbitrary: fc.constant('none') }, fc.constantFrom(...Object.keys(faults)))
  const split = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 1, max: 60 }))
  return fc.array(fc.record({ fault, execute_ms: duration_ms, commit_ms: duration_ms, split }), { maxLength: 20 })
}

const request = fc.record({
  at_ms: fc.oneof(fc.nat(20), fc.nat(2500)),
  kind: fc.oneof(
    { weight: 12, arbitrary: fc.constant('ada') },
    fc.constant('bad'),
    fc.constant('vanish'),
    fc.constant('find'),
  ),
  key: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, fc.nat(2)),
})

/**
 * Everything that a simulated run depends on. What it shrinks to: few requests, and a server with little trouble.
 * @type {fc.Arbitrary<Scenario>}
 */
export const scenarios = /** @type {fc.Arbitrary<any>} */ (
  fc.record({
    settings: fc.record({
      insertMode: fc.constantFrom(...MODES),
      poolMax: fc.integer({ min: 1, max: 3 }),
      pipelineConnections: fc.integer({ min: 1, max: 3 }),
      batchSlots: fc.integer({ min: 1, max: 3 }),
      batchMaxRows: fc.integer({ min: 1, max: 4 }),
      poolMaxLifetimeMs: fc.constantFrom(0, 30, 500, 5000),
      poolIdleTimeoutMs: fc.constantFrom(5000, 20, 500, 0),
      maxQueueRequests: fc.constantFrom(1000, 3),
      maxQueueMs: fc.constantFrom(0, 50),
    }),
    requests: fc.array(request, { minLength: 1, maxLength: 25 }),
    plan: fc.record({ logins: steps(LOGIN_FAULTS), statements: steps(STATEMENT_FAULTS) }),
    storms: fc.array(fc.record({ at_ms: fc.nat(3000), kind: fc.constantFrom(...STORMS) }), { maxLength: 3 }),
    picks: fc.array(fc.nat(1), { minLength: 1, maxLength: 20 }),
  })
)
